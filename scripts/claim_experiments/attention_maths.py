"""Claims about attention itself, with plain arrays or one trained layer: no quality of translation is involved."""

import h5py
import numpy as np

from claim_experiments.lab import FAILS, HOLDS, PARTLY, Chart, Finding, claim, read_group
from claim_experiments.recipes import BAHDANAU_TEXT


def softmax_jacobian_norms(weights):
    """Frobenius norm of diag(p) - p p^T for every row p of weights [..., keys]."""
    two, three = (weights ** 2).sum(-1), (weights ** 3).sum(-1)
    return np.sqrt(np.maximum(two - 2 * three + two ** 2, 0))


@claim("P6", "Scaling by 1/sqrt(d_k) stops scores from growing and gradients from vanishing", "S1:227, S2:62")
def scaling(lab):
    """q, k ~ N(0, 1), d_k = 4 .. 1024, through attend with and without the scale. Rule: var(q.k) = d_k and the scaled
    variance 1, each within 5 %; with the scale the median norm of the softmax's Jacobian changes less than twofold over
    the whole range; without it, it is less than a tenth of that at d_k = 1024."""
    rng = np.random.default_rng(1)
    widths = (4, 16, 64, 256, 1024)
    rows, off = [], 0
    for d in widths:
        file = lab.tensors("qk.h5", q=rng.normal(size=(16, 256, d)).astype("f4"),
                           k=rng.normal(size=(16, 256, d)).astype("f4"))
        stages = [lab.attend("--query", f"{file}:/q", "--key", f"{file}:/k", "--score", score)
                  for score in ("dot", "scaled-dot")]
        variance = float(stages[0]["scores"].astype("f8").var())
        off = max(off, abs(variance / d - 1))
        weights = [stage["weights"].astype("f8") for stage in stages]
        norms = [softmax_jacobian_norms(one) for one in weights]
        rows.append((d, *[float(f(one)) for f in (np.median, np.mean) for one in norms]))
    largest = [float(one.max(-1).mean()) for one in weights]
    fall, change = rows[-1][2] / rows[-1][1], rows[0][2] / rows[-1][2]
    good = off <= 0.05 and fall > 10 and 0.5 < change < 2
    return Finding(
        "variance of q.k, and norm of the softmax's Jacobian over 256 keys, d_k = 4 .. 1024",
        f"var(q.k) = d_k within {100 * off:.1f} %; at d_k = 1024, unscaled and scaled: mean largest weight "
        f"{largest[0]:.2f}, {largest[1]:.2f}; Jacobian's norm, median {rows[-1][1]:.2g}, {rows[-1][2]:.2g}, mean "
        f"{rows[-1][3]:.2g}, {rows[-1][4]:.2g}; scaled it changes {max(change, 1 / change):.2f}-fold from d_k = 4 on",
        HOLDS if good else PARTLY if off <= 0.05 else FAILS,
        [Chart("jacobian", "curves", ("d_k", "unscaled", "scaled"), [row[:3] for row in rows],
               ("--log-x", "--log-y", "--y", "unscaled", "--y", "scaled", "--y-title",
                "median norm of the softmax's Jacobian"))])


@claim("P22", "Similar inputs get larger weights", "S2:34")
def similar_inputs(lab):
    """attend --score dot of a set with itself. Rule: with inputs of norm 1 the order of a row's weights is the order of
    the cosines. Beside it, the same count with norms that differ, where nothing promises it."""
    x = np.random.default_rng(2).normal(size=(32, 64, 16))
    orders = []
    for norms in (1.0, np.random.default_rng(3).uniform(0.5, 2, size=(32, 64, 1))):
        unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
        file = lab.tensors("x.h5", x=unit * norms)
        weights = lab.attend("--query", f"{file}:/x", "--score", "dot")["weights"][:, 0, 0]
        by_cosine = np.take_along_axis(weights, np.argsort(unit @ unit.swapaxes(-1, -2), axis=-1), -1)
        steps = np.diff(by_cosine, axis=-1)
        orders.append(float((steps >= -1e-12).mean()))
    return Finding("neighbours in the order of cosine that are also in the order of weight",
                   f"norm 1: {100 * orders[0]:.1f} %; norms from 0.5 to 2: {100 * orders[1]:.0f} %",
                   HOLDS if orders[0] == 1 else FAILS)


@claim("P24", "Bahdanau's attention is an instance of query, key and value", "S3:23", [BAHDANAU_TEXT],
       settled=())
def bahdanau_as_query_key_value(lab):
    """The queries s_(i-1) W_a and the keys U_a h_j of a trained model's step, given as arrays to attend --score
    additive with v_a of the model file, against the weights that decode itself used. Rule: equal to 1e-5."""
    model = lab.trained(BAHDANAU_TEXT)
    data = lab.task("corpus")
    head = lab.head(data, 20)
    own = lab.attention(model, *head)["weights"][:, 0, 0]
    layer = lab.scratch("layer.h5")
    lab.pipe(["tokenize", "-m", model], ["embed", "-m", model], ["encode", "-m", model],
             ["attend", "-m", model, "--layer", "decoder/layer_0/cross_attention", "--target", head[1], "--steps",
              "-o", layer], text=head[0])
    parts = read_group(layer, "attention")
    with h5py.File(model) as file:
        v = file["model/parameters/decoder/layer_0/cross_attention/score/weight"][()]
    worst = worst_context = 0
    for i, (n, m) in enumerate(zip(parts["query_length"], parts["key_length"])):
        file = lab.tensors("step.h5", q=parts["query_vector"][i, 0, 0, :n], k=parts["key_vector"][i, 0, 0, :m],
                           v=parts["value_vector"][i, 0, 0, :m], **{"w/score/weight": v})
        general = lab.attend("--query", f"{file}:/q", "--key", f"{file}:/k", "--value", f"{file}:/v", "--score",
                             "additive", "--parameters", f"{file}:/w")
        worst = max(worst, float(abs(general["weights"][0, 0, 0] - own[i, :n, :m]).max()))
        worst_context = max(worst_context, float(abs(general["context"][0, 0] - parts["context"][i, 0, :n]).max()))
    return Finding("attend --score additive on the step's queries and keys against the model's own weights and contexts",
                   f"largest difference over 20 sentences: weights {worst:.1e}, contexts {worst_context:.1e}",
                   HOLDS if max(worst, worst_context) <= 1e-5 else FAILS)


@claim("P29", "Each output word has its own attention weights", "S1:82", [BAHDANAU_TEXT])
def own_weights(lab):
    """Rows of one sentence's attention, compared by total variation (0 equal, 1 nothing in common); and the same source
    forced to another first word y_1. That enters s_2, which the third row reads: where only s_(i-1) differs, rows do too.
    Rule: nine of ten pairs of rows differ by 0.1 at least, and so do half of the third rows behind another first word; in
    part, when only the first is so."""
    model = lab.trained(BAHDANAU_TEXT)
    source, target = lab.head(lab.task("corpus"), 50)
    found = lab.attention(model, source, target)
    swapped = lab.scratch("swapped.txt")
    lines = target.read_text(encoding="utf-8").splitlines()
    swapped.write_text("".join(" ".join(["est-ce", *line.split()[1:]]) + "\n" for line in lines), encoding="utf-8")
    other = lab.attention(model, source, swapped)["weights"]
    apart, moved = [], []
    for i, n in enumerate(found["query_length"]):
        rows = found["weights"][i, 0, 0, :n]
        apart += [0.5 * float(abs(rows[a] - rows[b]).sum()) for a in range(n) for b in range(a)]
        if n > 2 and not lines[i].startswith("est-ce"):
            moved.append(0.5 * float(abs(rows[2] - other[i, 0, 0, 2]).sum()))
    shares = [float(np.mean(np.array(one) >= 0.1)) for one in (apart, moved)]
    return Finding("total variation between the weights of two output words of a sentence; of the third word behind "
                   "another first word",
                   f"between words: mean {np.mean(apart):.2f}, {shares[0]:.0%} of the pairs 0.1 or more; behind another "
                   f"word: mean {np.mean(moved):.2f}, {shares[1]:.0%} of the sentences 0.1 or more",
                   HOLDS if shares[0] >= 0.9 and shares[1] >= 0.5 else PARTLY if shares[0] >= 0.9 else FAILS)


@claim("P23", "Local attention is cheaper and restricts to a window", "S3:29")
def local_window(lab):
    """attend --local local-m on n = m = 1024, d = 64. Rule: weights outside the window exactly 0; D >= T gives the
    global weights; and the time grows with 2 D + 1 (a line through the times explains 95 % of their variance) and is
    below the global time while the window is at most an eighth of the keys."""
    rng = np.random.default_rng(4)
    n = 128 if lab.quick else 1024
    file = lab.tensors("local.h5", q=rng.normal(size=(1, n, 64)).astype("f4"), k=rng.normal(size=(1, n, 64)).astype("f4"))
    inputs = ("--query", f"{file}:/q", "--key", f"{file}:/k")
    everywhere = lab.attend(*inputs)["weights"][0, 0, 0]
    around = lab.attend(*inputs, "--local", "local-m", "--window", 5)["weights"][0, 0, 0]
    distance = abs(np.arange(n)[:, None] - np.arange(n))
    outside = float(abs(around[distance > 5]).max())
    same = float(abs(lab.attend(*inputs, "--local", "local-m", "--window", n)["weights"][0, 0, 0] - everywhere).max())
    windows = [d for d in (4, 8, 16, 32, 64, 128, 256) if 2 * d < n]
    whole = lab.attend_time(*inputs)
    times = [lab.attend_time(*inputs, "--local", "local-m", "--window", d) for d in windows]
    sizes = np.array([2 * d + 1 for d in windows])
    line = np.polyfit(sizes, times, 1)
    explained = 1 - np.var(times - np.polyval(line, sizes)) / np.var(times)
    cheap = all(t < whole for t, size in zip(times, sizes) if size <= n / 8)
    exact = outside == 0 and same <= 1e-6
    verdict = HOLDS if exact and (lab.quick or cheap and explained >= 0.95) else PARTLY if exact else FAILS
    return Finding(
        f"weights and processor time of --local local-m, n = m = {n}, d = 64, against global attention",
        f"outside the window {outside:g}; D >= T against global {same:.1e}; global {whole:.2f} ms, windows of "
        + ", ".join(f"{size}: {t:.2f}" for size, t in zip(sizes, times)) + f" ms (linear: R2 = {explained:.3f})", verdict,
        [Chart("window", "curves", ("2 D + 1", "local", "global"), [(int(s), t, whole) for s, t in zip(sizes, times)],
               ("--y", "local", "--y", "global", "--y-title", "milliseconds"))])
