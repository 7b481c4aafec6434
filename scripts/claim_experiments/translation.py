"""Claims about how well systems translate: length, order of the source, depth, norms, feeding."""

import numpy as np

from claim_experiments.lab import (FAILS, HOLDS, PARTLY, Chart, Finding, buckets_of, claim, clearly_below, lines_of,
                                   verdict_of, word_accuracy, word_errors)
from claim_experiments.recipes import COPY, DEPTH, FEEDING, FIXED_VECTOR, JOINED, NORM, REVERSE, SOURCE_ORDER, seeds

SEEDS = 2
MARGIN = 0.02  # nats a word: the least difference of validation losses that counts


def by_length(lab, trainings, bounds, measure):
    """[(bucket, value of each system)]; measure(hypotheses, references) -> number."""
    data = lab.task(next(iter(trainings.values())).task)
    source, reference = lines_of(data / "test.source"), lines_of(data / "test.target")
    translations = {name: lab.translate(lab.trained(one), data / "test.source") for name, one in trainings.items()}
    pick = lambda lines, rows: [lines[i] for i in rows]
    return [(label, *[measure(pick(lines, rows), pick(reference, rows)) for lines in translations.values()])
            for label, rows in buckets_of(source, bounds) if len(rows)]


def ends_of(rows, systems):
    """(lowest with attention, highest with one vector) in the shortest and in the longest bucket."""
    split = [([value for value, name in zip(row[1:], systems) if name not in FIXED_VECTOR],
              [value for value, name in zip(row[1:], systems) if name in FIXED_VECTOR]) for row in (rows[0], rows[-1])]
    return [(min(attending), max(fixed)) for attending, fixed in split]


@claim("P8", "A fixed vector loses long sentences, attention repairs it", "S1:10-12, S3:9, S4:47-52,152-156",
       [*COPY.values(), *REVERSE.values(), *JOINED.values()],
       learnt=[one for task in (COPY, REVERSE, JOINED) for name, one in task.items() if name not in FIXED_VECTOR])
def length(lab):
    """Two fixed-vector and three attention systems on copied and reversed letters, 1-24, and on English-French lines of
    one to four sentences of the corpus; those with one vector learn for two to three times as many updates. Score: 100
    less the word errors (insertions, deletions, substitutions) in per cent, for one early slip displaces all words behind
    it; words in place are reported too. For text BLEU. Rule, in each setting: in the longest bucket the worst attention
    system keeps 90 % of its score in the shortest, which is 60 at least, while the best fixed-vector system loses a tenth
    of its own and ends 10 points or more below it."""
    correct = lambda hypotheses, references: 100 * (1 - word_errors(hypotheses, references))
    placed = lambda hypotheses, references: 100 * word_accuracy(hypotheses, references)[0]
    charts, notes, repaired = [], [], []
    settings = [("copy", COPY, (1, 7, 13, 19, 25), correct, "100 - word errors, %"),
                ("reverse", REVERSE, (1, 7, 13, 19, 25), correct, "100 - word errors, %"),
                ("text", JOINED, (1, 11, 21, 31, 61), lab.bleu, "BLEU")]
    for name, trainings, bounds, measure, unit in settings:
        rows = by_length(lab, trainings, bounds, measure)
        (first, first_fixed), (last, last_fixed) = ends_of(rows, trainings)
        repaired.append(first >= 60 and last >= 0.9 * first and last_fixed <= 0.9 * first_fixed
                        and last - last_fixed >= 10)
        note = (f"{name}, {rows[0][0]} -> {rows[-1][0]} words: attention at least {first:.0f} -> {last:.0f}, one vector at "
                f"most {first_fixed:.0f} -> {last_fixed:.0f}")
        if measure is correct:
            (_, _), (last, last_fixed) = ends_of(by_length(lab, trainings, bounds, placed), trainings)
            note += f" (in place {last:.0f}, {last_fixed:.0f})"
        notes.append(note)
        charts.append(Chart(name, "bars", ("source words", *trainings), rows, ("--y-title", unit)))
    sizes = lambda trainings: ", ".join(f"{name} {lab.parameters(one) / 1000:.0f}k" for name, one in trainings.items())
    return Finding("worst of Bahdanau, Luong, Transformer and best of Sutskever, Cho by source length: 100 - word errors "
                   f"(%) of copied and reversed letters (parameters {sizes(COPY)}; updates {COPY['luong'].updates}, without "
                   f"attention {COPY['cho'].updates}), BLEU of lines of 1-4 sentences ({sizes(JOINED)}; "
                   f"{JOINED['luong'].updates}, {JOINED['cho'].updates} updates)", "; ".join(notes), verdict_of(*repaired), charts)


def final_losses(lab, training):
    return [float(lab.metrics(one)["valid_loss"][-1]) for one in seeds([training], SEEDS)]


def spread(values):
    return f"{np.mean(values):.3f} ({', '.join(f'{value:.3f}' for value in values)})"


def first_and_last_words(hypotheses, references):
    """Shares of the first three and of the last three words of long enough references that stand at their place, counted
    from the beginning and from the end; the full stop or question mark at the end does not count."""
    words = lambda line: [word for word in line.split() if word not in (".", "?", "!")]
    right, total = np.zeros(2), 0
    for hypothesis, reference in zip(map(words, hypotheses), map(words, references), strict=True):
        if len(reference) >= 6:
            right += [sum(a == b for a, b in zip(hypothesis[:3], reference[:3])),
                      sum(a == b for a, b in zip(hypothesis[:-4:-1], reference[:-4:-1]))]
            total += 3
    return right / total


@claim("P9", "Reversing the source helps an LSTM without attention", "S4:43", seeds(SOURCE_ORDER.values(), SEEDS))
def source_order(lab):
    """Sutskever's system with and without reverse_source, equal updates, two seeds, on the English-French corpus. Rule:
    the validation loss is lower for every pair of seeds, by 0.02 in the mean; in part, when only the mean is. Reported
    too: how many of the first and of the last three words of greedy translations are right."""
    data = lab.task("corpus")
    losses = {order: final_losses(lab, one) for order, one in SOURCE_ORDER.items()}
    reference = lines_of(data / "test.target")
    ends = {order: np.mean([first_and_last_words(lab.translate(lab.trained(each), data / "test.source"), reference)
                            for each in seeds([one], SEEDS)], axis=0) for order, one in SOURCE_ORDER.items()}
    plain, backwards = losses["plain"], losses["reversed"]
    part = lambda i: f"{ends['plain'][i]:.0%} -> {ends['reversed'][i]:.0%}"
    return Finding(
        "validation loss at equal updates (two seeds); first and last three words of greedy translations that are right, "
        "references of six words or more",
        f"loss plain {spread(plain)}, reversed {spread(backwards)}; first words {part(0)}, last words {part(1)}",
        HOLDS if clearly_below(backwards, plain, MARGIN) else
        PARTLY if np.mean(plain) - np.mean(backwards) >= MARGIN else FAILS)


@claim("P10", "Deep LSTMs beat shallow ones", "S4:43", seeds(DEPTH.values(), SEEDS))
def depth(lab):
    """Sutskever's system with 1, 2 and 4 layers, the widths chosen for equal numbers of parameters, equal updates. Rule:
    the validation loss falls from 1 to 2 to 4 layers, each time for all seeds and by 0.02; in part, when 2 or 4 layers are
    so much below 1."""
    losses = {layers: final_losses(lab, one) for layers, one in DEPTH.items()}
    counts = {layers: lab.parameters(one) for layers, one in DEPTH.items()}
    below = lambda deep, shallow: clearly_below(losses[deep], losses[shallow], MARGIN)
    return Finding("validation loss of 1, 2 and 4 layers with matched parameters (two seeds)",
                   "; ".join(f"{layers} ({counts[layers]:,} parameters): {spread(losses[layers])}" for layers in DEPTH),
                   HOLDS if below(2, 1) and below(4, 2) else PARTLY if below(2, 1) or below(4, 1) else FAILS)


def known_and_new(lab, training):
    """Mean negative log-probability of the words (with </s>) of 300 sentences of training and of the validation set."""
    data, model, found = lab.task("corpus"), lab.trained(training), []
    for split in ("train", "valid"):
        files = [lab.scratch(f"known.{side}") for side in ("source", "target")]
        for path in files:
            path.write_text("".join(f"{line}\n" for line in lines_of(data / f"{split}{path.suffix}")[:300]),
                            encoding="utf-8")
        words = [word for sentence in lab.forced(model, *files) for word in sentence]
        found.append(-float(np.mean(words)))
    return found


@claim("P33", "Layer normalisation speeds training and helps generalisation", "S2:172", seeds(NORM.values(), 3))
def layer_norm(lab):
    """A Transformer with norms behind the sublayers (the paper), before them, and with none; three seeds. Speed: updates
    until the validation loss is below 3, which takes more than counting words (a line between two validations tells the
    update): without norms the first logits are larger, so losses after a few updates would compare first values, not
    learning; the loss at the first validation tells how far apart they are then. Generalisation, where both got there: the last loss of validation sentences less that of 300 training
    sentences. Rule: every seed with norms gets there sooner than any without, by a fifth of the updates in the mean, and
    has a smaller difference, by 0.02 in the mean, wherever the norms are; in part, when speed or generalisation is so, or
    one place of the norms does both."""
    curves = {norm: [lab.metrics(one) for one in seeds([training], 3)] for norm, training in NORM.items()}
    losses = {norm: [known_and_new(lab, one) for one in seeds([training], 3)] for norm, training in NORM.items()}
    steps = curves["post"][0]["step"]
    reached = {norm: [updates_until(curve, 3) for curve in found] for norm, found in curves.items()}
    excess = {norm: [new - known for known, new in found] for norm, found in losses.items()}
    faster = [clearly_below(reached[norm], reached["none"], 0.2 * np.mean(reached["none"])) for norm in ("post", "pre")]
    general = [max(reached[norm] + reached["none"]) < steps[-1] and clearly_below(excess[norm], excess["none"], MARGIN)
               for norm in ("post", "pre")]
    mean = {norm: np.mean([curve["valid_loss"] for curve in found], axis=0) for norm, found in curves.items()}
    when = lambda norm: ("never" if min(reached[norm]) >= steps[-1] else f"{np.mean(reached[norm]):.0f} updates"
                         if max(reached[norm]) < steps[-1] else "not with every seed")
    return Finding(f"updates until the validation loss is below 3; loss after {steps[0]:.0f} and {steps[-1]:.0f}; loss of "
                   "new less that of known sentences then; 2 + 2 layers, mean of three seeds",
                   "; ".join(f"{norm} ({lab.parameters(NORM[norm]):,} parameters): {when(norm)}; {mean[norm][0]:.2f}, "
                             f"{mean[norm][-1]:.3f}; {np.mean(excess[norm]):+.3f}" for norm in NORM),
                   HOLDS if all(faster + general) else
                   PARTLY if all(faster) or all(general) or any(a and b for a, b in zip(faster, general)) else FAILS,
                   [Chart("norm", "curves", ("update", *NORM), list(zip(steps, *mean.values())),
                          sum((["--y", norm] for norm in NORM), []) + ["--y-title", "validation loss"])])


def updates_until(curve, level):
    """The update at which a line through the validation losses first falls below the level; the last one, if none does."""
    steps, losses = curve["step"], curve["valid_loss"]
    below = np.flatnonzero(losses < level)
    if not len(below):
        return float(steps[-1])
    i = below[0]
    return float(steps[i] if i == 0 else np.interp(level, losses[[i, i - 1]], steps[[i, i - 1]]))


@claim("P34", "The current state as query, and feeding it on, make the output adjust better", "S4:230,234",
       seeds(FEEDING.values(), SEEDS), learnt=seeds(FEEDING.values(), SEEDS))
def feeding(lab):
    """Luong with and without input feeding, and Bahdanau, all with GRUs, additive scores and one learning rate, about equally
    many parameters, equal updates, two seeds, on the English-French corpus. Rule: Luong + feeding has a lower validation
    loss than Luong without and than Bahdanau, for all seeds and by 0.02; in part, than one of them."""
    losses = {name: final_losses(lab, one) for name, one in FEEDING.items()}
    data = lab.task("corpus")
    bleu = {name: np.mean([lab.bleu(lab.translate(lab.trained(one), data / "test.source"),
                                    lines_of(data / "test.target")) for one in seeds([training], SEEDS)])
            for name, training in FEEDING.items()}
    return Finding("validation loss and BLEU of greedy translations of unseen combinations, matched parameters (two seeds)",
                   "; ".join(f"{name} ({lab.parameters(FEEDING[name]):,}): {spread(losses[name])}, BLEU {bleu[name]:.1f}"
                             for name in sorted(losses, key=lambda name: np.mean(losses[name]))),
                   verdict_of(*[clearly_below(losses["luong + feeding"], losses[name], MARGIN)
                                for name in ("luong", "bahdanau")]))
