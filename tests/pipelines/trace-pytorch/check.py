"""Golden models (scripts/make-golden, computed by PyTorch) as model files, run by the tools with --trace and --patch.

Every traced value must be PyTorch's of that name, and every value of PyTorch's must be traced. Then one row of the
decoder's attention is changed with h5py and patched back: what comes out must be what NumPy computes from there.
"""
import json
import os
import subprocess
import sys

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)

GOLDEN = sys.argv[1]
TOLERANCE = 1e-5


def make_model(golden, path):
    """The golden parameters with vocabularies of words s4, s5, ... and t4, t5, ..."""
    config = golden["model/config"][0].decode()
    with h5py.File(path, "w") as model:
        model["model/config"] = [config]
        for side in ("source", "target"):
            size = json.loads(config).get(f"{side}_vocab_size", 4)
            words = ["<pad>", "<unk>", "<s>", "</s>"] + [side[0] + str(i) for i in range(4, size)]
            group = f"model/{side}_vocabulary"
            model[group + "/config"] = ['{"type": "word", "pretokenized": true, "normalization": "none"}']
            model.create_dataset(group + "/piece", data=words, dtype=h5py.string_dtype())
        classes = [f"c{i}" for i in range(json.loads(config).get("n_classes", 0))]
        if classes:
            model.create_dataset("model/classes", data=classes, dtype=h5py.string_dtype())

        def copy(name, item):
            if isinstance(item, h5py.Dataset):
                model["model/parameters/" + name] = item[()]
        golden["parameters"].visititems(copy)


def write_text(golden, side, path):
    ids, lengths = golden[side + "/ids"][()], golden[side + "/length"][()]
    with open(path, "w") as text:
        for sentence in np.split(ids, np.cumsum(lengths)[:-1]):
            print(*(side[0] + str(i) for i in sentence[:-1]), file=text)


def run(*command):
    subprocess.run(command, check=True)


def packed(group):
    """A traced value as the golden files have it: rows or attention blocks, without padding."""
    values = group["values"]
    dims = [d.label for d in values.dims]
    rows = []
    for s, sentence in enumerate(values[()]):
        if dims[-1] == "key":
            rows.append(sentence[:, :group["query_length"][s], :group["key_length"][s]].ravel())
            continue
        if dims[1] == "head":
            sentence = sentence.transpose(1, 0, 2).reshape(sentence.shape[1], -1)
        rows.append(sentence[:group["length"][s]] if "length" in group else sentence)
    return np.concatenate(rows)


def compare(name, golden, traces):
    """Prints how many values agreed; complains about every one that does not."""
    wanted = {}
    golden["activations"].visititems(
        lambda key, item: wanted.update({key: item[()]}) if isinstance(item, h5py.Dataset) else None)
    if "target" in golden:
        logits = wanted["decoder/logits"] = golden["logits"][()]
        wanted["decoder/probabilities"] = np.exp(logits - np.logaddexp.reduce(logits, -1, keepdims=True))
    got = {}
    for path in traces:
        with h5py.File(path) as trace:
            trace.visititems(lambda key, item: got.update({key: packed(item)})
                             if isinstance(item, h5py.Group) and "values" in item else None)
    for key in sorted(set(wanted) ^ set(got)):
        print(f"{name}: {key} is {'not traced' if key in wanted else 'unknown to PyTorch'}")
    worst = 0
    for key in sorted(set(wanted) & set(got)):
        a, b = got[key].ravel(), wanted[key].ravel()
        same = len(a) == len(b) and np.array_equal(np.isinf(a), np.isinf(b))
        finite = np.isfinite(b)
        error = np.max(np.abs(a[finite] - b[finite]), initial=0) if same else np.inf
        worst = max(worst, error)
        if not error <= TOLERANCE:
            print(f"{name}: {key} differs by {error}")
    print(f"{name}: {'all' if worst <= TOLERANCE else 'NOT all'} of {len(got)} values are PyTorch's")
    print(f"{name}: {len(got)} values, largest difference {worst:.1e}", file=sys.stderr)


def trace(name):
    with h5py.File(f"{GOLDEN}/{name}.h5") as golden:
        make_model(golden, "model.h5")
        os.environ["HEED_MODEL"] = "model.h5"
        sides = [side for side in ("source", "target") if side in golden]
        for side in sides:
            write_text(golden, side, side + ".txt")
        run("tokenize", "--side", sides[0], sides[0] + ".txt", "-o", "tokens.h5")
        run("embed", "tokens.h5", "-o", "embeddings.h5", "--trace", "embed.h5")
        run("encode", "embeddings.h5", "-o", "encoded.h5", "--trace", "encode.h5")
        traces = ["embed.h5", "encode.h5"]
        if "target" in sides:
            alone = "source" not in sides
            run("decode", "embeddings.h5" if alone else "encoded.h5", "-o", "forced.txt", "--force",
                "input" if alone else "target.txt", "--trace", "decode.h5")
            traces.append("decode.h5")
        elif "label" in golden:
            run("decode", "encoded.h5", "-o", "labels.txt", "--trace", "decode.h5")
            traces.append("decode.h5")
        compare(name, golden, traces)


class Transformer:
    """A post-norm Transformer from the equations (Vaswani et al. 2017), one sentence, in float64."""

    def __init__(self, golden):
        self.config = json.loads(golden["model/config"][0])
        self.parameters = golden["parameters"]

    def linear(self, path, x):
        return x @ self.parameters[path + "/weight"][()].astype("f8") + self.parameters[path + "/bias"][()]

    def norm(self, path, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + self.config["norm_epsilon"])
        return self.parameters[path + "/gamma"][()] * x + self.parameters[path + "/beta"][()]

    def attend(self, path, x, memory, causal, changed=()):
        """`changed`: weights to use instead, by (head, query)."""
        heads = lambda y: y.reshape(len(y), self.config["n_heads"], -1).transpose(1, 0, 2)
        q, k, v = (heads(self.linear(f"{path}/{part}", y)) for part, y in (("query", x), ("key", memory), ("value", memory)))
        e = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if causal:
            e[:, np.triu_indices(len(x), 1)[0], np.triu_indices(len(x), 1)[1]] = -np.inf
        weights = np.exp(e - e.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        for (head, query), row in dict(changed).items():
            weights[head, query] = row
        return self.linear(path + "/output", (weights @ v).transpose(1, 0, 2).reshape(len(x), -1))

    def feed_forward(self, layer, x):
        y = self.linear(layer + "feed_forward/outer", np.maximum(self.linear(layer + "feed_forward/inner", x), 0))
        return self.norm(layer + "feed_forward_norm", x + y)

    def encode(self, x):
        for i in range(self.config["n_encoder_layers"]):
            layer = f"encoder/layer_{i}/"
            x = self.norm(layer + "self_attention_norm", x + self.attend(layer + "self_attention", x, x, False))
            x = self.feed_forward(layer, x)
        return x

    def log_p(self, x, memory, changed=None):
        """log p of all words at every step; x: what the decoder reads; `changed`: {path: {(head, query): weights}}."""
        for i in range(self.config["n_decoder_layers"]):
            layer = f"decoder/layer_{i}/"
            for part, other, causal in (("self_attention", None, True), ("cross_attention", memory, False)):
                y = self.attend(layer + part, x, x if other is None else other, causal,
                                (changed or {}).get(layer + part, ()))
                x = self.norm(layer + part + "_norm", x + y)
            x = self.feed_forward(layer, x)
        logits = x @ self.parameters["embedding/weight"][()].astype("f8").T
        return logits - np.logaddexp.reduce(logits, -1, keepdims=True)


def patch():
    """With the files that trace("transformer_post_norm") left."""
    attention, sentence, head, query = "decoder/layer_1/cross_attention", 2, 1, 1
    with h5py.File("decode.h5", "r+") as trace:
        weights = trace[attention + "/weights/values"]
        length = trace[attention + "/weights/key_length"][sentence]
        row = np.zeros(weights.shape[-1], "f4")
        row[:length] = np.arange(length)[::-1] ** 2 + 0.5
        weights[sentence, head, query] = row = row / row.sum()
        embedded = trace["decoder/embedded/values"][sentence].astype("f8")
        targets = trace["decoder/embedded/length"][sentence]
        before = trace["decoder/probabilities/values"][sentence, :targets]
    run("decode", "encoded.h5", "--force", "target.txt", "-o", "again.txt", "--trace", "again.h5",
        "--patch", f"{attention}/weights=decode.h5")
    with h5py.File("again.h5") as again, h5py.File("encode.h5") as encoded, \
            h5py.File(f"{GOLDEN}/transformer_post_norm.h5") as golden:
        memory = encoded["encoder/output/values"][sentence, :length].astype("f8")
        predicted = np.exp(Transformer(golden).log_p(
            embedded[:targets], memory, {attention: {(head, query): row[:length]}}))
        got = again["decoder/probabilities/values"][sentence, :targets]
        np.testing.assert_array_equal(again[attention + "/weights/values"][sentence, head, query], row)
    difference, moved = np.abs(got - predicted).max(), np.abs(got - before).max()
    print(f"one row changed: {'NumPy predicts it' if difference <= TOLERANCE else 'NumPy says otherwise'},",
          "the output moved" if moved > 1e-3 else "nothing moved")
    print(f"patched: differs from NumPy by {difference:.1e}, from before by {moved:.1e}", file=sys.stderr)


def saliency():
    """Gradient times input against differences, integrated gradients against what they must add up to."""
    steps = ["--saliency-steps", "200", "--saliency-baseline", "zero"]
    for method, options in ("gradient-x-input", []), ("integrated", steps):
        run("decode", "encoded.h5", "--force", "target.txt", "-o", "again.txt", "--saliency", method + ".h5",
            "--saliency-method", method, *options, "-q")
    worst = missed = 0
    with h5py.File(f"{GOLDEN}/transformer_post_norm.h5") as golden, h5py.File("embed.h5") as embedded, \
            h5py.File("decode.h5") as decoded, h5py.File("gradient-x-input.h5") as simple, \
            h5py.File("integrated.h5") as integrated:
        model, ids = Transformer(golden), np.split(golden["target/ids"][()], np.cumsum(golden["target/length"][()])[:-1])
        for s, target in enumerate(ids):
            read = decoded["decoder/embedded/values"][s, :len(target)].astype("f8")
            x = embedded["encoder/embedded/values"][s, :embedded["encoder/embedded/length"][s]].astype("f8")
            log_p = lambda y: model.log_p(read, model.encode(y))[np.arange(len(target)), target]
            wanted = np.zeros((len(target), len(x)))
            for j, d in np.ndindex(x.shape):
                step = np.zeros_like(x)
                step[j, d] = 1e-5
                wanted[:, j] += x[j, d] * (log_p(x + step) - log_p(x - step)) / 2e-5
            worst = max(worst, np.abs(simple["saliency/scores"][s, :len(target), :len(x)] - wanted).max())
            total = integrated["saliency/scores"][s].sum(-1)[:len(target)] - integrated["saliency/gap"][s, :len(target)]
            missed = max(missed, np.abs(total - (log_p(x) - log_p(np.zeros_like(x)))).max())
    print("gradients times inputs:", "those of differences" if worst <= 1e-4 else "NOT those of differences")
    print("integrated gradients and their gaps:", "add up" if missed <= 1e-4 else "do NOT add up")
    print(f"saliency: differs by {worst:.1e} and {missed:.1e}", file=sys.stderr)


def zeros(name):
    """What follows from a value of zero by an equation alone; with the files that trace(name) left."""
    if name == "xu_gate":
        run("decode", "encoded.h5", "--force", "target.txt", "-o", "again.txt", "--trace", "again.h5",
            "--ablate", "decoder/layer_0/cross_attention/gate")
        with h5py.File("again.h5") as again:
            right = not again["decoder/layer_0/cross_attention/context/values"][()].any()
        print(f"{name}: a shut gate {'lets nothing through' if right else 'LEAKS'}")
    if name == "cho_mixed":
        run("decode", "encoded.h5", "--force", "target.txt", "-o", "again.txt", "--trace", "again.h5",
            "--ablate", "encoder/summary/output")
        with h5py.File("again.h5") as again, h5py.File(f"{GOLDEN}/{name}.h5") as golden:
            wanted = np.tanh(golden["parameters/decoder/initial/bias"][()])
            right = np.abs(again["decoder/initial/output/values"][()] - wanted).max() <= TOLERANCE
        print(f"{name}: without a summary the decoder starts {'from its bias' if right else 'ELSEWHERE'}")
    if name == "sutskever_deep":
        run("encode", "embeddings.h5", "-o", "again.h5", "--ablate", "encoder/layer_1/final_c")
        with h5py.File("again.h5") as again, h5py.File("encoded.h5") as before:
            wanted = before["encoder/final_c"][()]
            wanted[:, 1] = 0
            right = (again["encoder/final_c"][()] == wanted).all() and wanted.any()
            right = right and (again["encoder/final_h"][()] == before["encoder/final_h"][()]).all()
        print(f"{name}: {'one layer hands on an empty cell' if right else 'the WRONG state is empty'}")


def is_model(name):
    with h5py.File(f"{GOLDEN}/{name}") as file:
        return "model/config" in file


for name in sorted(filter(is_model, os.listdir(GOLDEN))):
    trace(name[:-3])
    zeros(name[:-3])
trace("transformer_post_norm")
saliency()
patch()
