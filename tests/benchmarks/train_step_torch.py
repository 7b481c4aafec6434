#!/usr/bin/python3
"""The PyTorch twin of train_step: the same Transformer on the same batches, as fast as PyTorch gets.

  train_step_torch.py --config CONFIG.json --batches FILE [--threads N] [--warmup N] [--steps N]

CONFIG is a heed model's config: post-norm, tied = all, sinusoidal positions. FILE holds a sentence pair a line, source
ids TAB target ids with their final eos, and an empty line after each batch. Prints one line of JSON.

What makes it fast: query, key and value in one product; no mask where nothing is padded; the output layer only on rows
that are no padding, with its loss and gradients computed block by block, so that the logits of a batch never exist as
a whole; Adam over all parameters at once (foreach). Start it as the script train_step does: another BLAS, malloc and
instruction set than PyTorch's first choice make it more than twice as fast.
"""
import argparse
import json
import math
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS = 0, 2
LABEL_SMOOTHING = 0.1
LOSS_ROWS = 512  # logits that exist at a time


class ProjectedCrossEntropy(torch.autograd.Function):
    """Mean label-smoothed cross-entropy of softmax(h W^T), its gradients taken block by block on the way forward."""

    @staticmethod
    def forward(ctx, h, weight, targets):
        n, classes = h.shape[0], weight.shape[0]
        d_h, d_weight = torch.empty_like(h), torch.zeros_like(weight)
        row, loss, low = torch.arange(LOSS_ROWS), 0.0, LABEL_SMOOTHING / classes
        for first in range(0, n, LOSS_ROWS):
            x, y = h[first:first + LOSS_ROWS], targets[first:first + LOSS_ROWS]
            z = torch.mm(x, weight.t())
            top, total, right = z.amax(1, keepdim=True), z.sum(1), z.gather(1, y[:, None])[:, 0]
            norm = z.sub_(top).exp_().sum(1, keepdim=True)
            loss += float((top[:, 0] + norm[:, 0].log() - (1 - LABEL_SMOOTHING) * right - low * total).sum())
            z.mul_(1 / (n * norm)).sub_(low / n)
            z[row[:len(y)], y] -= (1 - LABEL_SMOOTHING) / n
            torch.mm(z, weight, out=d_h[first:first + LOSS_ROWS])
            d_weight.addmm_(z.t(), x)
        ctx.save_for_backward(d_h, d_weight)
        return torch.tensor(loss / n)

    @staticmethod
    def backward(ctx, d_loss):
        d_h, d_weight = ctx.saved_tensors
        return d_h.mul_(d_loss), d_weight.mul_(d_loss), None


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training) if self.p > 0 else x


class Attention(nn.Module):
    def __init__(self, config, cross):
        super().__init__()
        d = config["d_model"]
        self.n_heads, self.cross = config["n_heads"], cross
        if cross:
            self.query, self.key_value = nn.Linear(d, d), nn.Linear(d, 2 * d)
        else:
            self.query_key_value = nn.Linear(d, 3 * d)
        self.output = nn.Linear(d, d)
        self.dropout = Dropout(config["attention_dropout"])

    def forward(self, x, memory, bias):
        batch, n, d = x.shape
        h, width = self.n_heads, d // self.n_heads
        if self.cross:
            q = self.query(x).view(batch, n, h, width).transpose(1, 2)
            k, v = self.key_value(memory).view(batch, -1, 2, h, width).permute(2, 0, 3, 1, 4)
        else:
            q, k, v = self.query_key_value(x).view(batch, n, 3, h, width).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q * width ** -0.5, k.transpose(-1, -2))  # [batch, h, n, m]
        weights = torch.softmax(scores if bias is None else scores + bias, -1)
        context = torch.matmul(self.dropout(weights), v)  # [batch, h, n, width]
        return self.output(context.transpose(1, 2).reshape(batch, n, d))


class Layer(nn.Module):
    def __init__(self, config, decoder):
        super().__init__()
        d, d_ff = config["d_model"], config["d_ff"]
        self.self_attention, self.self_norm = Attention(config, False), nn.LayerNorm(d)
        if decoder:
            self.cross_attention, self.cross_norm = Attention(config, True), nn.LayerNorm(d)
        self.inner, self.outer, self.norm = nn.Linear(d, d_ff), nn.Linear(d_ff, d), nn.LayerNorm(d)
        self.dropout, self.inner_dropout = Dropout(config["dropout"]), Dropout(config["activation_dropout"])

    def forward(self, x, bias, memory=None, memory_bias=None):
        x = self.self_norm(x + self.dropout(self.self_attention(x, None, bias)))
        if memory is not None:
            x = self.cross_norm(x + self.dropout(self.cross_attention(x, memory, memory_bias)))
        return self.norm(x + self.dropout(self.outer(self.inner_dropout(F.relu(self.inner(x))))))


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = self.d = config["d_model"]
        self.embedding = nn.Embedding(config["source_vocab_size"], d)
        nn.init.normal_(self.embedding.weight, std=d ** -0.5)
        angle = torch.arange(512)[:, None] * torch.exp(torch.arange(0, d, 2) * (-math.log(1e4) / d))
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], -1).view(512, d))
        rate = config["embedding_dropout"]
        self.dropout = Dropout(config["dropout"] if rate < 0 else rate)
        self.encoder = nn.ModuleList(Layer(config, False) for _ in range(config["n_encoder_layers"]))
        self.decoder = nn.ModuleList(Layer(config, True) for _ in range(config["n_decoder_layers"]))

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * self.d ** 0.5 + self.positions[:ids.shape[1]])

    def forward(self, source, target_in, target):
        """The mean loss. source [batch, n], target_in and target [batch, m], padded with PAD."""
        padded = source == PAD
        bias = padded[:, None, None, :].float() * -1e9 if bool(padded.any()) else None
        causal = torch.full((target.shape[1],) * 2, -1e9).triu_(1)
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, bias)
        x = self.embed(target_in)
        for layer in self.decoder:
            x = layer(x, causal, memory, bias)
        kept = (target != PAD).reshape(-1).nonzero()[:, 0]
        states = x.reshape(-1, self.d).index_select(0, kept)
        return ProjectedCrossEntropy.apply(states, self.embedding.weight, target.reshape(-1)[kept])


def padded(sentences):
    longest = max(map(len, sentences))
    return torch.tensor([s + [PAD] * (longest - len(s)) for s in sentences])


def read_batches(path):
    """Per batch: source, shifted target and target ids, padded; and the number of target tokens."""
    batches, sources, targets = [], [], []
    with open(path) as lines:
        for line in lines:
            if line.strip():
                source, target = ([int(x) for x in side.split()] for side in line.split("\t"))
                sources.append(source)
                targets.append(target)
            elif sources:
                shifted = [[BOS] + t[:-1] for t in targets]
                batches.append((padded(sources), padded(shifted), padded(targets), sum(map(len, targets))))
                sources, targets = [], []
    return batches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--batches", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    with open(options.config) as file:
        config = json.load(file)
    wanted = dict(norm="post", tied="all", positions="sinusoidal")
    if any(config[key] != value for key, value in wanted.items()):
        parser.error(f"{options.config}: this twin knows only {wanted}")

    batches = read_batches(options.batches)
    model = Transformer(config).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-9, foreach=True)
    speeds = []
    for step in range(options.warmup + options.steps):
        source, target_in, target, tokens = batches[step % len(batches)]
        start = time.perf_counter()
        loss = model(source, target_in, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step >= options.warmup:
            speeds.append((tokens, time.perf_counter() - start))
    seconds = sum(s for _, s in speeds)
    print(json.dumps(dict(
        program="PyTorch " + str(torch.__version__), threads=options.threads, steps=options.steps,
        parameters=sum(p.numel() for p in model.parameters()), loss=round(loss.item(), 4),
        target_tokens_per_second=round(sum(n for n, _ in speeds) / seconds, 1),
        median_step_seconds=round(statistics.median(s for _, s in speeds), 5),
        peak_megabytes=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))))


if __name__ == "__main__":
    main()
