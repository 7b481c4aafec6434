"""Claims about cost, in processor time of one thread, which other work on the machine hardly changes."""

import resource
import statistics

import h5py
import numpy as np

from claim_experiments import tasks
from claim_experiments.lab import FAILS, HOLDS, PARTLY, Chart, Finding, claim
from claim_experiments.recipes import ENCODERS, WIDE


@claim("P7", "h heads of width d / h cost about as much as one head", "S1:315", WIDE.values())
def heads_cost(lab):
    """Parameters of a layer's self-attention in model files with 1 .. 16 heads, d = 512; time of attend --bench with the
    four projections. Rule: parameters exactly 4 d^2 + 4 d; at n = 64 every h within 1.5 times h = 1. The part that grows
    with n^2 h is shown by n = 1024."""
    d = 64 if lab.quick else 512
    counts = set()
    for training in WIDE.values():
        with h5py.File(lab.trained(training)) as file:
            layer, sizes = file["model/parameters/encoder/layer_0/self_attention"], []
            layer.visititems(lambda _, node: sizes.append(node.size) if isinstance(node, h5py.Dataset) else None)
            counts.add(sum(sizes))
    rng = np.random.default_rng(8)
    draw = lambda *shape: rng.normal(size=shape).astype("f4")
    weights = {f"w/{part}/weight": draw(d, d) / np.float32(d ** 0.5) for part in ("query", "key", "value", "output")}
    ratios = {}
    for n in (64,) if lab.quick else (64, 1024):
        file = lab.tensors("wide.h5", x=draw(1, n, d), **weights)
        times = {h: lab.attend_time("--query", f"{file}:/x", "--weights", f"{file}:/w", "--heads", h) for h in WIDE}
        ratios[n] = [times[h] / times[1] for h in WIDE]
    exact = counts == {4 * d * d + 4 * d}
    near = max(ratios[64]) <= 1.5
    return Finding(f"parameters of self-attention, d = {d}, 1 to 16 heads; processor time with projections against one "
                   "head",
                   f"{'always ' if exact else ''}{', '.join(f'{count:,}' for count in counts)} parameters (4 d^2 + 4 d); "
                   "time "
                   + "; ".join(f"n = {n}: " + ", ".join(f"{h}: {r:.2f}" for h, r in zip(WIDE, values))
                               for n, values in ratios.items()),
                   HOLDS if exact and near else PARTLY if exact else FAILS,
                   [Chart("heads", "curves", ("heads", *[f"n = {n}" for n in ratios]), list(zip(WIDE, *ratios.values())),
                          sum((["--y", f"n = {n}"] for n in ratios), ["--y-title", "time against one head"]))])


@claim("P11", "Dot products are much faster than the additive network", "S4:228")
def dot_against_additive(lab):
    """attend --bench --grid: n = m = 16 .. 1024, d = 64 .. 512, processor time in one thread; the time by the clock with
    two threads is reported too. Rule: the additive score takes at least twice the time of dot in every cell."""
    where = ("--grid",) if not lab.quick else ("--query", f"{lab.tensors('grid.h5', q=np.ones((16, 64), 'f4'))}:/q")
    rows = lab.bench(*where, "--score", "additive", threads=2)
    found = {(n, d, score, threads): (wall, cpu) for n, d, score, threads, wall, cpu in rows}
    sizes, widths = sorted({key[0] for key in found}), sorted({key[1] for key in found})
    ratio = lambda n, d, threads, clock: found[n, d, "additive", threads][clock] / found[n, d, "dot", threads][clock]
    one = [ratio(n, d, 1, 1) for n in sizes for d in widths]
    two = [ratio(n, d, 2, 0) for n in sizes for d in widths]
    return Finding("time of additive against dot, n = m = 16 .. 1024, d = 64 .. 512 (attend --bench --grid)",
                   f"one thread: {min(one):.1f} to {max(one):.1f} times, median {statistics.median(one):.1f}; n = "
                   f"{sizes[-1]}: " + ", ".join(f"d = {d}: {ratio(sizes[-1], d, 1, 1):.1f}" for d in widths)
                   + f"; two threads: median {statistics.median(two):.1f}",
                   HOLDS if min(one) >= 2 else PARTLY if statistics.median(one) >= 2 else FAILS,
                   [Chart("ratio", "curves", ("n", *[f"d = {d}" for d in widths]),
                          [(n, *[ratio(n, d, 1, 1) for d in widths]) for n in sizes],
                          sum((["--y", f"d = {d}"] for d in widths), ["--log-x", "--y-title", "additive / dot"]))])


@claim("P12", "A Transformer reads the sequence at once, so it is faster than a recurrent network", "S1:97, S2:11, S3:5",
       ENCODERS.values())
def at_once(lab):
    """Time of encode per word and layer, 256 wide, one thread, 16 to 512 words, one sentence and 64 at a time: a GRU
    layer takes T steps one after the other, a Transformer layer one. Encoders of three layers and of one are timed in
    turns; half the difference is a layer, free of what reading and writing cost. Rule: the Transformer is faster in every
    cell."""
    per_word, rows = {}, []
    words = 2048 if lab.quick else 32768
    for length in (16, 64) if lab.quick else (16, 32, 64, 128, 256, 512):
        text = lab.scratch("timed.txt")
        tasks.write_lines(text, tasks.random_letters(words // length, length - 1, seed=length))  # and </s>
        cells = []
        for batch in (1, 64):
            for name, seconds in layer_seconds(lab, text, batch).items():
                cells.append(1e6 * seconds / words)
                per_word[length, batch, name] = cells[-1]
        rows.append((length, *cells))
    faster = [per_word[n, b, "Transformer"] < per_word[n, b, "GRU"] for n, b, name in per_word if name == "GRU"]
    part = lambda batch: ", ".join(f"{n}: {per_word[n, batch, 'GRU'] / per_word[n, batch, 'Transformer']:.2f}"
                                   for n, b, name in per_word if b == batch and name == "GRU")
    header = ("words", "GRU, single", "Transformer, single", "GRU, 64 at a time", "Transformer, 64 at a time")
    return Finding("processor time per word of a GRU layer (T steps) and a Transformer layer (one), both 256 wide, one thread, "
                   "by sentence length",
                   f"GRU / Transformer, one sentence at a time: {part(1)}; 64 at a time: {part(64)}",
                   HOLDS if all(faster) else PARTLY if any(faster) else FAILS,
                   [Chart("encode", "curves", header, rows, [*sum((["--y", name] for name in header[1:]), []), "--log-x",
                                                             "--log-y", "--y-title", "microseconds per word"])])


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def layer_seconds(lab, text, batch):
    """Seconds of processor that one layer of each encoder takes for the text: from the least of some rounds."""
    commands = {}
    for key, training in ENCODERS.items():
        model, embedded = lab.trained(training), lab.scratch(f"timed-{len(commands)}.h5")
        lab.pipe(["tokenize", "-m", model], ["embed", "-m", model, "-o", embedded], text=text)
        commands[key] = ["encode", "-m", model, embedded, "--batch", batch, "-o", lab.scratch("timed-out.h5")]
    times = {key: [] for key in ENCODERS}
    for _ in range(1 if lab.quick else 5):
        for key, command in commands.items():
            begun = processor_seconds()
            lab.pipe(command)
            times[key].append(processor_seconds() - begun)
    return {name: max((min(times[name, 3]) - min(times[name, 1])) / 2, 1e-9) for name in dict.fromkeys(
        name for name, _ in ENCODERS)}
