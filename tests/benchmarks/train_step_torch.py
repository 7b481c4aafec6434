#!/usr/bin/python3
"""The PyTorch twin of train_step: the same model on the same batches, as fast as PyTorch gets.

  train_step_torch.py --config CONFIG.json --batches FILE [--threads N] [--warmup N] [--steps N] [--precision WORD]

CONFIG is a heed model's config. FILE holds a sentence pair a line, source ids TAB target ids with their final eos, and
an empty line after each batch. Prints one line of JSON.

What makes it fast: products that read the same input are one; no mask where nothing is padded; the output layer only on
rows that are no padding, with its loss and gradients computed block by block, so that the logits of a batch never exist
as a whole; Adam over all parameters at once (foreach). Start it as the script train_step does, with tcmalloc.
"""
import argparse
import json
import resource
import statistics
import time

import torch

from torch_parts import BOS, PAD
from torch_recurrent import Bahdanau, Sutskever
from torch_transformer import Transformer

TWINS = dict(transformer=Transformer, bahdanau=Bahdanau, sutskever=Sutskever)


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
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32", help="bfloat16: by autocast")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    with open(options.config) as file:
        config = json.load(file)
    twin = TWINS[config["architecture"]]
    if any(config[key] != value for key, value in twin.WANTED.items()):
        parser.error(f"{options.config}: this twin knows only {twin.WANTED}")

    batches = read_batches(options.batches)
    model = twin(config).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-9, foreach=True)
    speeds, processor = [], 0
    for step in range(options.warmup + options.steps):
        source, target_in, target, tokens = batches[step % len(batches)]
        start, processor_start = time.perf_counter(), time.process_time()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bfloat16"):
            loss = model(source, target_in, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step >= options.warmup:
            speeds.append((tokens, time.perf_counter() - start))
            processor += time.process_time() - processor_start
    tokens, seconds = (sum(values) for values in zip(*speeds))
    print(json.dumps(dict(
        program="PyTorch " + str(torch.__version__), threads=options.threads, steps=options.steps,
        parameters=sum(p.numel() for p in model.parameters()), loss=round(loss.item(), 4),
        target_tokens_per_second=round(tokens / seconds, 1), target_tokens_per_cpu_second=round(tokens / processor, 1),
        median_step_seconds=round(statistics.median(s for _, s in speeds), 5),
        peak_megabytes=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))))


if __name__ == "__main__":
    main()
