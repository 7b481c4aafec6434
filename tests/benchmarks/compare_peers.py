"""The other sides of `compare`: CTranslate2 and PyTorch on the weights of a heed model. Runs in the script's virtual
environment.

  compare_peers.py export MODEL.h5 POSITIONS.h5 FOLDER     writes the model as CTranslate2's
  compare_peers.py ctranslate2|torch ...                   translates and prints seconds and ids as JSON (--help)
  compare_peers.py attention BATCH HEADS LENGTH WIDTH THREADS   prints the seconds of PyTorch's attention as JSON
"""
import argparse
import json
import os
import resource
import sys
import time

import h5py
import numpy as np


class Weights:
    """The parameters of a heed model by path; weights as heed has them, [d_in, d_out]."""

    def __init__(self, path):
        file = h5py.File(path)
        self.config = json.loads(file["model/config"][()][0])
        wanted = {"architecture": ["transformer"], "norm": ["post", "pre"], "positions": ["sinusoidal"], "tied": ["all"],
                  "residual": [True]}
        for field, values in wanted.items():
            if self.config[field] not in values:
                sys.exit(f"compare: {path}: {field} is {self.config[field]}, but only {' and '.join(map(str, values))} "
                         f"{'is' if len(values) == 1 else 'are'} compared")
        # A field that a model file leaves out has its default, which is what is computed here.
        sizes = ["source_vocab_size", "target_vocab_size", "n_encoder_layers", "n_decoder_layers", "d_model", "d_ff", "n_heads",
                 "max_length", "norm_epsilon"]
        dropouts = ["dropout", "embedding_dropout", "attention_dropout", "activation_dropout"]
        if others := self.config.keys() - wanted.keys() - {*sizes, *dropouts}:
            sys.exit(f"compare: {path}: has {', '.join(sorted(others))}, which is not compared")
        self.pre_norm = self.config["norm"] == "pre"
        self.parameters = file["model/parameters"]

    def __call__(self, name):
        return self.parameters[name][()]

    def joined(self, scope, parts, field):
        return np.concatenate([self(f"{scope}/{part}/{field}") for part in parts], axis=-1)


def sentences(path):
    with h5py.File(path) as file:
        return [row[:n].tolist() for row, n in zip(file["tokens/ids"][()], file["tokens/length"][()])]


# ---- CTranslate2 ---------------------------------------------------------------------------------------------------
def export(model, positions, folder):
    import ctranslate2

    weights = Weights(model)
    config = weights.config
    spec = ctranslate2.specs.TransformerSpec.from_config(
        (config["n_encoder_layers"], config["n_decoder_layers"]), config["n_heads"], pre_norm=weights.pre_norm)

    def linear(to, weight, bias):
        to.weight, to.bias = np.ascontiguousarray(weight.T), bias

    def norm(to, scope):
        to.gamma, to.beta = weights(scope + "/gamma"), weights(scope + "/beta")

    def attention(to, scope, groups):
        for number, parts in enumerate(groups + [["output"]]):
            linear(to.linear[number], weights.joined(scope, parts, "weight"), weights.joined(scope, parts, "bias"))
        norm(to.layer_norm, scope + "_norm")

    table = weights("embedding/weight")
    with h5py.File(positions) as file:
        encodings = file["positions/values"][()]
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    for name, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        stack.position_encodings.encodings = encodings
        if weights.pre_norm:
            norm(stack.layer_norm, name + "/final_norm")
        for number, layer in enumerate(stack.layer):
            scope = f"{name}/layer_{number}"
            attention(layer.self_attention, scope + "/self_attention", [["query", "key", "value"]])
            if name == "decoder":
                attention(layer.attention, scope + "/cross_attention", [["query"], ["key", "value"]])
            for part, to in (("inner", layer.ffn.linear_0), ("outer", layer.ffn.linear_1)):
                linear(to, weights(f"{scope}/feed_forward/{part}/weight"), weights(f"{scope}/feed_forward/{part}/bias"))
            norm(layer.ffn.layer_norm, scope + "/feed_forward_norm")
    words = ["<blank>", "<unk>", "<s>", "</s>"] + [str(i) for i in range(4, len(table))]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = "<unk>", "<s>", "</s>"
    spec.config.decoder_start_token = "<s>"
    spec.config.layer_norm_epsilon = config["norm_epsilon"]
    spec.validate()
    os.makedirs(folder)
    spec.save(folder)


def ctranslate2_side(options):
    import ctranslate2

    translator = ctranslate2.Translator(options.model, compute_type=options.type, inter_threads=options.workers,
                                        intra_threads=options.threads // options.workers)
    words = ["<blank>", "<unk>", "<s>", "</s>"]
    number = {word: i for i, word in enumerate(words)}

    def word_of(i):
        return words[i] if i < 4 else str(i)

    source = [[word_of(i) for i in ids] for ids in sentences(options.tokens)]

    def translate(part):
        return translator.translate_batch(
            part, beam_size=options.beam, max_batch_size=options.batch, length_penalty=1,
            max_decoding_length=options.max_length, max_input_length=0)

    def run():  # it gets the whole text: what is of about equal length it takes together, max_batch_size sentences at once
        return [[number[w] if w in number else int(w) for w in result.hypotheses[0]] for result in translate(source)]

    return lambda: translate(source[:1]), run


# ---- PyTorch -------------------------------------------------------------------------------------------------------
def torch_side(options):
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(options.threads)
    weights = Weights(options.model)
    config = weights.config
    heads, d, eps = config["n_heads"], config["d_model"], config["norm_epsilon"]

    def tensor(x):
        return torch.from_numpy(np.ascontiguousarray(x))

    table = tensor(weights("embedding/weight"))
    with h5py.File(options.positions) as file:
        encodings = tensor(file["positions/values"][()])

    def linear(scope, parts):
        return tensor(weights.joined(scope, parts, "weight").T), tensor(weights.joined(scope, parts, "bias"))

    def norm(scope):
        return tensor(weights(scope + "/gamma")), tensor(weights(scope + "/beta"))

    def layer(scope, decodes):
        parts = {"self": linear(scope + "/self_attention", ["query", "key", "value"]),
                 "self_out": linear(scope + "/self_attention", ["output"]), "self_norm": norm(scope + "/self_attention_norm"),
                 "inner": linear(scope + "/feed_forward", ["inner"]), "outer": linear(scope + "/feed_forward", ["outer"]),
                 "ffn_norm": norm(scope + "/feed_forward_norm")}
        if decodes:
            cross = scope + "/cross_attention"
            parts.update(query=linear(cross, ["query"]), memory=linear(cross, ["key", "value"]),
                         cross_out=linear(cross, ["output"]), cross_norm=norm(cross + "_norm"))
        return parts

    encoder = [layer(f"encoder/layer_{i}", False) for i in range(config["n_encoder_layers"])]
    decoder = [layer(f"decoder/layer_{i}", True) for i in range(config["n_decoder_layers"])]

    def split(x, n):  # [rows, t, n d] -> n tensors [rows, heads, t, d / heads]
        return [part.unflatten(-1, (heads, d // heads)).transpose(1, 2) for part in x.chunk(n, dim=-1)]

    def normalised(x, scale):
        return F.layer_norm(x, (d,), *scale, eps)

    final = {stack: norm(stack + "/final_norm") if weights.pre_norm else None for stack in ("encoder", "decoder")}

    def finish(x, stack):
        return normalised(x, final[stack]) if weights.pre_norm else x

    def residual(x, scale, sublayer):
        if weights.pre_norm:
            return x + sublayer(normalised(x, scale))
        return normalised(x + sublayer(x), scale)

    def attended(q, k, v, mask, out):
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return F.linear(context.transpose(1, 2).flatten(2), *out)

    def feed_forward(x, p):
        return residual(x, p["ffn_norm"], lambda y: F.linear(F.relu(F.linear(y, *p["inner"])), *p["outer"]))

    def embed(ids, first):
        return F.embedding(ids, table) * d ** 0.5 + encodings[first:first + ids.shape[1]]

    def encode(batch):
        longest = max(map(len, batch))
        ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids in batch])
        mask = torch.tensor([[True] * len(ids) + [False] * (longest - len(ids)) for ids in batch])[:, None, None]
        x = embed(ids, 0)
        for p in encoder:
            x = residual(x, p["self_norm"], lambda y: attended(*split(F.linear(y, *p["self"]), 3), mask, p["self_out"]))
            x = feed_forward(x, p)
        return finish(x, "encoder"), mask

    class State:
        def __init__(self, memory, mask):
            self.mask, self.past = mask, [None] * len(decoder)
            self.memory = [split(F.linear(memory, *p["memory"]), 2) for p in decoder]
            self.sentence = torch.arange(len(memory))

        def select(self, parents):
            if len(parents) == len(self.sentence) and torch.equal(parents, torch.arange(len(parents))):
                return
            sentence = self.sentence[parents]
            if not torch.equal(sentence, self.sentence):
                self.memory = [[x[parents] for x in kv] for kv in self.memory]
                self.mask = self.mask[parents]
            self.sentence = sentence
            if self.past[0]:
                self.past = [[x[parents] for x in kv] for kv in self.past]

        def read(self, tokens, position):
            x = embed(tokens[:, None], position)
            for i, p in enumerate(decoder):
                def over_past(y):
                    q, k, v = split(F.linear(y, *p["self"]), 3)
                    if self.past[i]:
                        k, v = (torch.cat(pair, 2) for pair in zip(self.past[i], (k, v)))
                    self.past[i] = [k, v]
                    return attended(q, k, v, None, p["self_out"])

                def over_memory(y):
                    return attended(*split(F.linear(y, *p["query"]), 1), *self.memory[i], self.mask, p["cross_out"])

                x = residual(x, p["self_norm"], over_past)
                x = residual(x, p["cross_norm"], over_memory)
                x = feed_forward(x, p)
            return F.log_softmax(F.linear(finish(x, "decoder")[:, 0], table), -1)

    def search(batch):
        beam, end = options.beam, 3
        state = State(*encode(batch))
        active = [[(0.0, [])] for _ in batch]
        finished = [[] for _ in batch]
        open_sentences, parents = list(range(len(batch))), list(range(len(batch)))
        for position in range(options.max_length):
            state.select(torch.tensor(parents))
            rows = [h for s in open_sentences for h in active[s]]
            log_p = state.read(torch.tensor([h[1][-1] if h[1] else 2 for h in rows]), position)
            values, ids = (x.tolist() for x in log_p.topk(2 * beam, -1))
            still, parents, row = [], [], 0
            for s in open_sentences:
                candidates = sorted(((rows[row + i][0] + values[row + i][k], -row - i, -ids[row + i][k])
                                     for i in range(len(active[s])) for k in range(2 * beam)), reverse=True)
                row += len(active[s])
                kept = []
                for rank, (total, parent, word) in enumerate(candidates[:2 * beam]):
                    if -word == end and rank < beam:
                        finished[s].append((total / (position + 1), rows[-parent][1]))
                    elif -word != end and len(kept) < beam:
                        kept.append((total, rows[-parent][1] + [-word], -parent))
                if len(finished[s]) >= beam:
                    continue
                active[s] = [h[:2] for h in kept]
                still.append(s)
                parents += [h[2] for h in kept]
            open_sentences = still
            if not still:
                break
        for s in open_sentences:  # cut
            if not finished[s]:
                finished[s] = [(t / len(ids), ids) for t, ids in active[s]]
        return [max(hypotheses, key=lambda h: h[0])[1] for hypotheses in finished]

    source = sentences(options.tokens)

    def run():
        with torch.inference_mode():
            return [ids for first in range(0, len(source), options.batch)
                    for ids in search(source[first:first + options.batch])]

    def warm():
        with torch.inference_mode():
            search(source[:1])

    return warm, run


# ---- attention alone -----------------------------------------------------------------------------------------------
def attention(batch, heads, length, width, threads):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    torch.set_num_threads(threads)
    inputs = [torch.randn(batch, heads, length, width) for _ in range(3)]
    ones = torch.ones(batch, heads, length, width)

    def forward():
        with torch.inference_mode():
            scaled_dot_product_attention(*inputs)

    def both():
        leaves = [x.requires_grad_() for x in inputs]
        torch.autograd.grad(scaled_dot_product_attention(*leaves), leaves, ones)

    def measure(run):
        run()
        passes, start, cpu = 0, time.perf_counter(), time.process_time()
        while time.process_time() - cpu < 0.5:
            run()
            passes += 1
        return {"seconds": (time.perf_counter() - start) / passes, "cpu": (time.process_time() - cpu) / passes}

    json.dump({"forward": measure(forward), "both": measure(both)}, sys.stdout)


def main():
    if sys.argv[1] == "export":
        return export(*sys.argv[2:])
    if sys.argv[1] == "attention":
        return attention(*map(int, sys.argv[2:]))
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=["ctranslate2", "torch"])
    parser.add_argument("--model", required=True, help="CTranslate2: folder; PyTorch: heed's model")
    parser.add_argument("--positions")
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--type", default="float32")
    parser.add_argument("--workers", type=int, default=1, help="CTranslate2: batches translated at once, each by its share of threads")
    for name in ("batch", "beam", "threads", "max-length"):
        parser.add_argument("--" + name, type=int, required=True)
    options = parser.parse_args()
    warm, run = {"ctranslate2": ctranslate2_side, "torch": torch_side}[options.side](options)
    warm()  # its threads start, its buffers are there
    start, cpu = time.perf_counter(), time.process_time()
    ids = run()
    json.dump({"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "ids": ids,
               "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}, sys.stdout)


if __name__ == "__main__":
    main()
