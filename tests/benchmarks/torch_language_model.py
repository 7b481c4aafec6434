#!/usr/bin/env python3
"""A PyTorch twin of the preset gpt-tiny: the same sizes, recipe and number of updates, to compare perplexities.

    tokenize --vocab v.h5 -o train.h5 train.en; the same for valid.h5 and test.h5
    torch_language_model.py train.h5 valid.h5 test.h5 --updates 1000 [--threads 2] [--seed 1]

Prints the perplexity of the test text, </s> counted, of the parameters with the best validation loss, which is taken
after each epoch and at the end. Batches hold sentences of like length, at most 4096 tokens, in random order; which
ones, and the first values, are PyTorch's own. With --init MODEL the first values are those of a model of heed's; where
in addition --batch-tokens makes the whole text one batch and there is no dropout, nothing is random, and both must
go the same way.
"""

import argparse
import math
import random

import h5py
import torch
from torch import nn

D_MODEL, D_FF, HEADS, LAYERS, MAX_LENGTH = 128, 512, 4, 4, 256
RATE, WARMUP, DECAY, CLIP = 0.003, 400, 0.01, 1.0
BOS = 2


class Block(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        self.query_key_value, self.output = nn.Linear(D_MODEL, 3 * D_MODEL), nn.Linear(D_MODEL, D_MODEL)
        self.inner, self.outer = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)
        self.dropout = nn.Dropout(dropout)
        for part in self.query_key_value.weight.chunk(3):
            nn.init.xavier_uniform_(part, 1 / math.sqrt(2))
        for linear in self.output, self.inner, self.outer:
            nn.init.xavier_uniform_(linear.weight)
        for linear in self.query_key_value, self.output, self.inner, self.outer:
            nn.init.zeros_(linear.bias)

    def forward(self, x, mask):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                   for part in self.query_key_value(self.attention_norm(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(D_MODEL / HEADS) + mask
        context = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, D_MODEL)
        x = x + self.dropout(self.output(context))
        return x + self.dropout(self.outer(torch.relu(self.inner(self.feed_forward_norm(x)))))


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, dropout):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, D_MODEL), nn.Embedding(MAX_LENGTH, D_MODEL)
        for table in self.words, self.positions:
            nn.init.normal_(table.weight, std=1 / math.sqrt(D_MODEL))
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.norm, self.dropout = nn.LayerNorm(D_MODEL), nn.Dropout(dropout)

    def forward(self, ids):
        length = ids.shape[1]
        mask = torch.full((length, length), -math.inf).triu(1)
        x = self.dropout(self.words(ids) * math.sqrt(D_MODEL) + self.positions.weight[:length])
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x) @ self.words.weight.T

    def take(self, path):
        """The parameters of a model file."""
        with h5py.File(path) as file, torch.no_grad():
            parameters = file["model/parameters/decoder"]

            def value(name):
                return torch.from_numpy(parameters[name][:])

            def take_norm(norm, name):
                norm.weight.copy_(value(name + "/gamma"))
                norm.bias.copy_(value(name + "/beta"))

            self.words.weight.copy_(value("embedding/weight"))
            self.positions.weight.copy_(value("positions/weight"))
            take_norm(self.norm, "final_norm")
            for i, block in enumerate(self.blocks):
                layer, parts = f"layer_{i}/", [f"layer_{i}/self_attention/{part}/" for part in ("query", "key", "value")]
                take_norm(block.attention_norm, layer + "self_attention_norm")
                take_norm(block.feed_forward_norm, layer + "feed_forward_norm")
                block.query_key_value.weight.copy_(torch.cat([value(part + "weight").T for part in parts]))
                block.query_key_value.bias.copy_(torch.cat([value(part + "bias") for part in parts]))
                for linear, name in ((block.output, "self_attention/output"), (block.inner, "feed_forward/inner"),
                                     (block.outer, "feed_forward/outer")):
                    linear.weight.copy_(value(f"{layer}{name}/weight").T)
                    linear.bias.copy_(value(f"{layer}{name}/bias"))


def read(path):
    with h5py.File(path) as file:
        ids, lengths = file["tokens/ids"][:], file["tokens/length"][:]
    return [row[:n].tolist() for row, n in zip(ids, lengths) if n > 1]


def batches(sentences, batch_tokens, rng=None):
    order = sorted(range(len(sentences)),
                   key=lambda i: len(sentences[i]) + (rng.random() * 3 if rng else 0))
    lists, tokens = [[]], 0
    for i in order:
        if tokens + len(sentences[i]) > batch_tokens:
            lists.append([])
            tokens = 0
        lists[-1].append(sentences[i])
        tokens += len(sentences[i])
    if rng:
        rng.shuffle(lists)
    return lists


def loss_of(model, batch):
    longest = max(map(len, batch))
    target = torch.tensor([s + [-100] * (longest - len(s)) for s in batch])
    read_ids = torch.tensor([[BOS] + s[:-1] + [0] * (longest - len(s)) for s in batch])
    logits = model(read_ids)
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="sum")


def mean_loss(model, sentences):
    model.eval()
    with torch.no_grad():
        total = sum(loss_of(model, batch).item() for batch in batches(sentences, 4096))
    model.train()
    return total / sum(map(len, sentences))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=3, metavar="FILE")
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--init", metavar="MODEL")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    train, valid, test = map(read, options.files)
    words = 1 + max(max(s) for s in train + valid + test)
    if options.init:
        with h5py.File(options.init) as file:
            words = len(file["model/parameters/decoder/embedding/weight"])
    model = LanguageModel(words, options.dropout)
    if options.init:
        model.take(options.init)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, (0.9, 0.98), 1e-8, DECAY)
    best, kept, step = math.inf, None, 0
    while step < options.updates:
        for batch in batches(train, options.batch_tokens, rng):
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(step / WARMUP, math.sqrt(WARMUP / step))
            optimizer.zero_grad()
            (loss_of(model, batch) / sum(map(len, batch))).backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            if step == options.updates:
                break
        loss = mean_loss(model, valid)
        print(f"update {step}: validation loss {loss:.4f}, perplexity {math.exp(loss):.2f}", flush=True)
        if loss < best:
            best, kept = loss, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(kept)
    print(f"parameters {sum(p.numel() for p in model.parameters())}, "
          f"test perplexity {math.exp(mean_loss(model, test)):.2f}")


if __name__ == "__main__":
    main()
