"""Claims about cost, in processor time of one thread, which other work on the machine hardly changes."""

import resource
import statistics

import h5py
import numpy as np

from claim_experiments import tasks
from claim_experiments.lab import FAILS, HOLDS, PARTLY, Chart, Finding, claim
from claim_experiments.recipes import ENCODERS, WIDE

ROUNDS = 7  # of P12


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
        times = {h: lab.attend_time("--query", f"{file}:/x", "--parameters", f"{file}:/w", "--heads", h) for h in WIDE}
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
    return Finding("time of additive attention with its two projections against dot without any, n = m = 16 .. 1024, d = 64 "
                   ".. 512 (attend --bench --grid)",
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
    turns, round after round; half the difference within a round is a layer, free of what reading and writing cost. A
    cell tells the layers apart when one is faster in all rounds but one; else it is undecided. Rule: the Transformer is
    faster in every cell; in part, when it is in half of them."""
    rows, ratios, faster = [], {1: [], 64: []}, []
    words = 2048 if lab.quick else 16384
    lengths = (16, 64) if lab.quick else (16, 32, 64, 128, 256, 512)
    for length in lengths:
        text = lab.scratch("timed.txt")
        tasks.write_lines(text, tasks.random_letters(words // length, length - 1, seed=length))  # and </s>
        cells = []
        for batch, found in ratios.items():
            seconds = layer_seconds(lab, text, batch)
            recurrent, attending = np.array(seconds["GRU"]), np.array(seconds["Transformer"])
            middle = [float(np.median(one)) for one in (recurrent, attending)]
            wins = int((attending < recurrent).sum())
            decided = min(middle) > 0 and max(wins, ROUNDS - wins) >= ROUNDS - 1
            faster.append(decided and middle[1] < middle[0])
            found.append(f"{length}: " + (f"{middle[0] / middle[1]:.2f}" if decided else "undecided"))
            cells += [1e6 * max(one, 0) / words or float("nan") for one in middle]
        rows.append((length, *cells))
    header = ("words", "GRU, single", "Transformer, single", "GRU, 64 at a time", "Transformer, 64 at a time")
    drawn = [row for row in rows if not np.isnan(row).any()]
    return Finding("processor time per word of a GRU layer and a Transformer layer, both 256 wide, one thread, by sentence "
                   "length T; steps that must follow one another: T N in a GRU of N layers, N in a Transformer",
                   f"GRU / Transformer, one sentence at a time: {', '.join(ratios[1])}; 64 at a time: "
                   f"{', '.join(ratios[64])}; steps of 3 layers at T = {lengths[-1]}: {3 * lengths[-1]:,} against 3",
                   HOLDS if all(faster) else PARTLY if np.mean(faster) >= 0.5 else FAILS,
                   [Chart("encode", "curves", header, drawn, [*sum((["--y", name] for name in header[1:]), []), "--log-x",
                                                              "--log-y", "--y-title", "microseconds per word"])]
                   if drawn else [])


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def layer_seconds(lab, text, batch):
    """Seconds of processor that one layer of each encoder takes for the text, a number for each round."""
    commands = {}
    for key, training in ENCODERS.items():
        model, embedded = lab.trained(training), lab.scratch(f"timed-{len(commands)}.h5")
        lab.pipe(["tokenize", "-m", model], ["embed", "-m", model, "-o", embedded], text=text)
        commands[key] = ["encode", "-m", model, embedded, "--batch", batch, "-o", lab.scratch("timed-out.h5")]
    found = {name: [] for name, _ in ENCODERS}
    for _ in range(ROUNDS):
        times = {}
        for key, command in commands.items():
            begun = processor_seconds()
            lab.pipe(command)
            times[key] = processor_seconds() - begun
        for name, seconds in found.items():
            seconds.append((times[name, 3] - times[name, 1]) / 2)
    return found
