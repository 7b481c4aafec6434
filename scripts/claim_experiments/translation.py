"""Claims about how well systems translate: length, order of the source, depth, norms, feeding."""

import numpy as np

from claim_experiments.lab import (FAILS, HOLDS, PARTLY, Chart, Finding, buckets_of, claim, lines_of,
                                   word_accuracy)
from claim_experiments.recipes import COPY, DEPTH, FEEDING, FIXED_VECTOR, JOINED, NORM, REVERSE, SOURCE_ORDER, seeds

SEEDS = 2


def by_length(lab, trainings, bounds, measure):
    """[(bucket, value of each system)]; measure(hypotheses, references) -> number."""
    data = lab.task(next(iter(trainings.values())).task)
    source, reference = lines_of(data / "test.source"), lines_of(data / "test.target")
    translations = {name: lab.translate(lab.trained(one), data / "test.source") for name, one in trainings.items()}
    pick = lambda lines, rows: [lines[i] for i in rows]
    return [(label, *[measure(pick(lines, rows), pick(reference, rows)) for lines in translations.values()])
            for label, rows in buckets_of(source, bounds) if len(rows)]


def gaps(rows, systems):
    """Attention models less fixed-vector models, in the shortest and the longest bucket."""
    fixed = [name in FIXED_VECTOR for name in systems]
    mean = lambda row, kind: np.mean([value for value, is_fixed in zip(row[1:], fixed) if is_fixed == kind])
    return [float(mean(row, False) - mean(row, True)) for row in (rows[0], rows[-1])]


@claim("P8", "A fixed vector loses long sentences, attention repairs it", "S1:10-12, S3:9, S4:47-52,152-156",
       [*COPY.values(), *REVERSE.values(), *JOINED.values()])
def length(lab):
    """Two fixed-vector and three attention systems with equally many updates: words in place of copied and reversed
    letters of 1-24, BLEU of English-French lines of one to four sentences of the corpus. With --multi30k also test2016
    by the given models. Rule: in each of them the gap between the two groups grows from the shortest to the longest
    bucket, by 10 points at least."""
    percent = lambda hypotheses, references: 100 * word_accuracy(hypotheses, references)[0]
    charts, notes, grows = [], [], []
    settings = [("copy", COPY, (1, 7, 13, 19, 25), percent, "words in place, %"),
                ("reverse", REVERSE, (1, 7, 13, 19, 25), percent, "words in place, %"),
                ("text", JOINED, (1, 11, 21, 31, 61), lab.bleu, "BLEU")]
    for name, trainings, bounds, measure, unit in settings:
        rows = by_length(lab, trainings, bounds, measure)
        first, last = gaps(rows, trainings)
        grows.append(last - first >= 10)
        notes.append(f"{name}: gap {first:.0f} at {rows[0][0]} words, {last:.0f} at {rows[-1][0]}")
        charts.append(Chart(name, "bars", ("source words", *trainings), rows, ("--y-title", unit)))
    if lab.multi30k:
        rows, names = multi30k(lab)
        first, last = gaps(rows, names)
        notes.append(f"Multi30k test2016: gap {first:.1f} at {rows[0][0]}, {last:.1f} at {rows[-1][0]}")
        charts.append(Chart("multi30k", "bars", ("source words", *names), rows, ("--y-title", "BLEU")))
    return Finding("mean of Bahdanau, Luong, Transformer less mean of Sutskever, Cho, by source length: words in place "
                   "(%) of copied and reversed letters, BLEU of lines of 1-4 sentences",
                   "; ".join(notes), HOLDS if all(grows) else PARTLY if any(grows) else FAILS, charts)


def multi30k(lab):
    """BLEU by length of the models in --models on test2016, beam 5."""
    source, target = (lab.multi30k / f"test_2016_flickr.tok.{language}" for language in ("en", "de"))
    reference, names, translations = lines_of(target), [], []
    for model in sorted(lab.models.glob("*.h5")):
        names.append(model.stem.split("2014")[0].split("2015")[0].split("-")[0])
        translations.append(lab.translate(model, source, "--beam", 5))
    rows = [(label, *[lab.bleu([lines[i] for i in rows], [reference[i] for i in rows]) for lines in translations])
            for label, rows in buckets_of(lines_of(source), (1, 10, 13, 16, 20, 60))]
    return rows, names


def final_losses(lab, training):
    return [float(lab.metrics(one)["valid_loss"][-1]) for one in seeds([training], SEEDS)]


def spread(values):
    return f"{np.mean(values):.3f} ({', '.join(f'{value:.3f}' for value in values)})"


@claim("P9", "Reversing the source helps an LSTM without attention", "S4:43", seeds(SOURCE_ORDER.values(), SEEDS))
def source_order(lab):
    """Sutskever's system with and without reverse_source, equal updates, two seeds, on the English-French corpus. Rule:
    the validation loss is lower for every pair of seeds. Reported too: how likely the first and the last three words of
    the test references are."""
    data = lab.task("corpus")
    losses = {order: final_losses(lab, one) for order, one in SOURCE_ORDER.items()}
    ends = {}
    for order, one in SOURCE_ORDER.items():
        words = [sentence for each in seeds([one], SEEDS)
                 for sentence in lab.forced(lab.trained(each), data / "test.source", data / "test.target")]
        ends[order] = [np.mean([np.mean(s[:3]) for s in words]), np.mean([np.mean(s[-5:-2]) for s in words])]
    plain, backwards = losses["plain"], losses["reversed"]
    return Finding(
        "validation loss at equal updates (two seeds); mean log-probability of the first and the last three words",
        f"loss plain {spread(plain)}, reversed {spread(backwards)}; first words {ends['plain'][0]:.2f} -> "
        f"{ends['reversed'][0]:.2f}, last {ends['plain'][1]:.2f} -> {ends['reversed'][1]:.2f}",
        HOLDS if max(backwards) < min(plain) else PARTLY if np.mean(backwards) < np.mean(plain) else FAILS)


@claim("P10", "Deep LSTMs beat shallow ones", "S4:43", seeds(DEPTH.values(), SEEDS))
def depth(lab):
    """Sutskever's system with 1, 2 and 4 layers, the widths chosen for equal numbers of parameters, equal updates. Rule:
    the validation loss falls from 1 to 2 to 4 layers."""
    losses = {layers: final_losses(lab, one) for layers, one in DEPTH.items()}
    counts = {layers: lab.parameters(one) for layers, one in DEPTH.items()}
    mean = [np.mean(values) for values in losses.values()]
    return Finding("validation loss of 1, 2 and 4 layers with matched parameters (two seeds)",
                   "; ".join(f"{layers} ({counts[layers]:,} parameters): {spread(losses[layers])}" for layers in DEPTH),
                   HOLDS if mean[0] > mean[1] > mean[2] else PARTLY if min(mean[1:]) < mean[0] else FAILS)


@claim("P33", "Layer normalisation speeds training and helps generalisation", "S2:172", seeds(NORM.values(), 3))
def layer_norm(lab):
    """A Transformer with norms behind the sublayers, before them, and with none; three seeds. Rule: at a quarter of the
    updates and at the end the validation loss with norms (the better place) is below that without, for every seed."""
    curves = {norm: [lab.metrics(one) for one in seeds([training], 3)] for norm, training in NORM.items()}
    steps = curves["post"][0]["step"]
    at = lambda norm, row: [curve["valid_loss"][row] for curve in curves[norm]]
    quarter, better = (len(steps) - 1) // 4, {}
    for row in (quarter, -1):
        better[row] = min(("post", "pre"), key=lambda norm: np.mean(at(norm, row)))
    good = [max(at(better[row], row)) < min(at("none", row)) for row in (quarter, -1)]
    mean = {norm: np.mean([curve["valid_loss"] for curve in found], axis=0) for norm, found in curves.items()}
    part = lambda norm: f"{norm} {mean[norm][quarter]:.2f} -> {mean[norm][-1]:.3f}"
    return Finding(f"validation loss after {steps[quarter]:.0f} and {steps[-1]:.0f} updates, mean of three seeds",
                   "; ".join(part(norm) for norm in NORM),
                   HOLDS if all(good) else PARTLY if any(good) else FAILS,
                   [Chart("norm", "curves", ("update", *NORM), list(zip(steps, *mean.values())),
                          sum((["--y", norm] for norm in NORM), []) + ["--y-title", "validation loss"])])


@claim("P34", "The current state as query, and feeding it on, make the output adjust better", "S4:230,234",
       seeds(FEEDING.values(), SEEDS))
def feeding(lab):
    """Luong with and without input feeding, and Bahdanau, equal updates, two seeds, on the English-French corpus. Rule:
    Luong + feeding has a lower validation loss than Luong without and than Bahdanau."""
    losses = {name: final_losses(lab, one) for name, one in FEEDING.items()}
    data = lab.task("corpus")
    bleu = {name: np.mean([lab.bleu(lab.translate(lab.trained(one), data / "test.source"),
                                    lines_of(data / "test.target")) for one in seeds([training], SEEDS)])
            for name, training in FEEDING.items()}
    fed, mean = losses["luong + feeding"], {name: np.mean(values) for name, values in losses.items()}
    beaten = [max(fed) < min(losses[name]) for name in ("luong", "bahdanau")]
    return Finding("validation loss and BLEU of greedy translations of unseen combinations (two seeds)",
                   "; ".join(f"{name}: {spread(losses[name])}, BLEU {bleu[name]:.1f}"
                             for name in sorted(mean, key=mean.get)),
                   HOLDS if all(beaten) else PARTLY if any(beaten) else FAILS)
