"""Claims about heads: what each looks at."""

import itertools

import numpy as np

from claim_experiments.lab import FAILS, HOLDS, PARTLY, Chart, Finding, claim, read_group, verdict_of
from claim_experiments.recipes import HEADS, START_TEXT, TRANSFORMER_TEXT
from claim_experiments.toy_tasks import solved


def self_attention(lab, model, text, layer):
    """/attention of an encoder layer: weights and scores [sentence, 1, head, query, key]."""
    path = lab.scratch("self.h5")
    commands = [["tokenize", "-m", model], ["embed", "-m", model]]
    if layer:
        commands.append(["encode", "-m", model, "--layers", f"0:{layer}"])
    commands.append(["attend", "-m", model, "--layer", f"encoder/layer_{layer}/self_attention", "-o", path])
    lab.pipe(*commands, text=text)
    return read_group(path, "attention")


def maps_of(lab, model, text, layers=2):
    """One [heads, n, n] array of weights for each sentence, layers one behind the other."""
    found = [self_attention(lab, model, text, layer) for layer in range(layers)]
    return [np.concatenate([one["weights"][i, 0, :, :n, :n] for one in found]).astype("f8")
            for i, n in enumerate(found[0]["query_length"])]


@claim("P21", "The word itself has the highest score", "S1:331", [TRANSFORMER_TEXT])
def the_word_itself(lab):
    """Basic self-attention of vectors of one norm, where the Cauchy-Schwarz inequality makes it true; then the heads of a
    trained Transformer. Rule: holds in a setting where the largest score of every row lies on the diagonal."""
    x = np.random.default_rng(6).normal(size=(32, 40, 24))
    file = lab.tensors("unit.h5", x=x / np.linalg.norm(x, axis=-1, keepdims=True), any=x)
    share = lambda weights: float((weights.argmax(-1) == np.arange(weights.shape[-1])).mean())
    basic, unequal = [share(lab.attend("--query", f"{file}:/{name}", "--score", "dot")["weights"][:, 0, 0])
                      for name in ("x", "any")]
    source, _ = lab.head(lab.task("corpus"), 100)
    maps = maps_of(lab, lab.trained(TRANSFORMER_TEXT), source)
    heads = [np.mean([share(one[head]) for one in maps]) for head in range(len(maps[0]))]
    verdict = FAILS if basic < 1 else HOLDS if min(heads) == 1 else PARTLY
    return Finding("share of rows whose largest score is on the diagonal: vectors of norm 1, of any norm; trained heads",
                   f"norm 1: {basic:.0%}; Gaussian vectors: {unequal:.0%}; the {len(heads)} encoder heads of a trained "
                   f"Transformer: {min(heads):.0%} to {max(heads):.0%}, mean {np.mean(heads):.0%}", verdict,
                   [Chart("diagonal", "bars", ("head", "rows that look at themselves"),
                          [(f"{i // 4}.{i % 4}", float(value)) for i, value in enumerate(heads)],
                          ("--y-title", "share"))])


def draw_arcs(lab, model):
    """P31-arcs.svg: what each word of the notes' sentence looks at in the second layer, heads averaged."""
    text, drawn = lab.scratch("hang.txt"), lab.scratch("self.h5")
    text.write_text("hang them not let them go .\n", encoding="utf-8")
    self_attention(lab, model, text, 1)
    lab.pipe(["viz-dump", drawn, "--name", "attention/weights", "--arcs", "--head", "mean", "-o",
              lab.out / "P31-arcs.svg"])


def divergence(p, q):
    """Jensen-Shannon, in bits, of two maps of rows: 0 equal, 1 nothing in common."""
    middle = (p + q) / 2
    part = lambda a: np.where(a > 0, a * np.log2(np.maximum(a, 1e-300) / np.maximum(middle, 1e-300)), 0).sum(-1)
    return float((part(p) + part(q)).mean() / 2)


def divergences(lab, model, source):
    """Mean divergence of every pair of heads of a layer, over the sentences."""
    maps = maps_of(lab, model, source)
    return [np.mean([divergence(one[a], one[b]) for one in maps])
            for layer in range(2) for a, b in itertools.combinations(range(4 * layer, 4 * layer + 4), 2)]


@claim("P31", "Heads learn different relations; one head keeps one reading", "S4:266-274, S2:106",
       [*HEADS.values(), TRANSFORMER_TEXT, START_TEXT])
def different_relations(lab):
    """(a) Eight letters in any order, each with a number of four; the word at a letter's place names the numbers of the next
    three letters of the alphabet. The decoder cannot know the letter at a place, so one self-attention layer of the
    encoder must bring all three: look-ups that depend on the data. 1, 2 and 3 heads that together are equally wide;
    equal updates, the course of validation drawn. (b) Divergence between the heads of a layer trained on text, and of one
    that never was. P31-arcs.svg draws what words of "hang them not let them go ." look at. Rule: (a) with one head less
    than half of the words in place, with three above 90 %; (b) 0.2 bits on average and twice the untrained divergence."""
    shares = {heads: solved(lab, training) for heads, training in HEADS.items()}
    curves = {heads: lab.metrics(training) for heads, training in HEADS.items()}
    model = lab.trained(TRANSFORMER_TEXT)
    source, _ = lab.head(lab.task("corpus"), 100)
    draw_arcs(lab, model)
    pairs, untrained = [divergences(lab, one, source) for one in (model, lab.trained(START_TEXT))]
    last = lambda heads: curves[heads]["valid_loss"][-1]
    return Finding("words that name three other letters' numbers, learnt with 1, 2 and 3 heads in one layer (64 words: "
                   "chance 2 %); Jensen-Shannon divergence of heads trained on text",
                   ", ".join(f"h = {heads}: {share:.0%}, loss {last(heads):.2f}" for heads, share in shares.items())
                   + f"; divergence {min(pairs):.2f} to {max(pairs):.2f} bits, mean {np.mean(pairs):.2f} (untrained "
                   f"{np.mean(untrained):.2f})",
                   verdict_of(shares[1] < 0.5 and shares[3] > 0.9,
                              np.mean(pairs) >= max(0.2, 2 * np.mean(untrained))),
                   [Chart("heads", "curves", ("update", *[f"h = {heads}" for heads in HEADS]),
                          list(zip(curves[1]["step"], *[curve["valid_loss"] for curve in curves.values()])),
                          sum((["--y", f"h = {heads}"] for heads in HEADS), ["--y-title", "validation loss"]))])


@claim("P39", "Multi-head attention handles long and short dependencies", "S4:282", [TRANSFORMER_TEXT])
def distances(lab):
    """Mean distance in words between query and key, weighted by attention, of every encoder head trained on text, beside
    that of even weights. Rule: the nearest head stays below half of the even distance, the farthest comes above nine
    tenths of it; in part, when only the first is so, for heads that learnt nothing are as far as even weights."""
    source, _ = lab.head(lab.task("corpus"), 300)
    maps = maps_of(lab, lab.trained(TRANSFORMER_TEXT), source)
    apart = [abs(np.arange(one.shape[-1])[:, None] - np.arange(one.shape[-1])) for one in maps]
    means = np.mean([(one * gap).sum(-1).mean(-1) for one, gap in zip(maps, apart)], axis=0)
    even = float(np.mean([gap.mean() for gap in apart]))
    near, far = min(means) < 0.5 * even, max(means) > 0.9 * even
    return Finding("mean distance in words that each encoder head bridges on test sentences",
                   ", ".join(f"{value:.1f}" for value in sorted(means)) + f"; even weights: {even:.1f}",
                   HOLDS if near and far else PARTLY if near else FAILS,
                   [Chart("distance", "bars", ("head", "mean distance"),
                          [(f"{i // 4}.{i % 4}", float(value)) for i, value in enumerate(means)],
                          ("--y-title", "words"))])
