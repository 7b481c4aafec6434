"""Claims about what states contain, and how far changes reach."""

import shutil

import h5py
import numpy as np

from claim_experiments import tasks
from claim_experiments.lab import (FAILS, HOLDS, PARTLY, Chart, Finding, claim, lines_of, read_group, verdict_of,
                                   word_accuracy)
from claim_experiments.recipes import COPY, AHEAD, SKIP, START, START_POST


def probe(states, labels):
    """Share of labels that a linear map of the states finds: least squares with a little ridge on the first half, judged
    on the second. states [sentence, position, d], labels [sentence, position]."""
    half = len(states) // 2
    flat = lambda x: x.reshape(-1, x.shape[-1])
    standard = (states - states.mean((0, 1))) / (states.std((0, 1)) + 1e-6)
    with_one = np.concatenate([standard, np.ones((*states.shape[:2], 1))], axis=-1)
    x, wanted = flat(with_one[:half]), np.eye(labels.max() + 1)[labels[:half].reshape(-1)]
    weights = np.linalg.solve(x.T @ x + 1e-3 * len(x) * np.eye(x.shape[-1]), x.T @ wanted)
    return float(((with_one[half:] @ weights).argmax(-1) == labels[half:]).mean())


def random_sentences(lab, name, count, length, letters=16):
    """A file of random letters, and their numbers [sentence, position]."""
    sentences = tasks.random_letters(count, length, 7, letters)
    path = lab.scratch(name)
    tasks.write_lines(path, sentences)
    return path, np.array([[tasks.LETTERS.index(word) for word in sentence] for sentence in sentences])


@claim("P13", "Recurrence lets gradients vanish with distance, attention does not", "S2:11, S4:25", START.values())
def gradient_by_distance(lab):
    """Encoders at their first values, 41 words. The embedding of word j is moved a little, in random directions, between
    embed and encode; how far the last state moves, per unit, is the norm of d h_T / d x_j (root mean square over
    directions). The tanh RNN starts as Sutskever's system does, uniformly within 0.08, and once more with an orthogonal
    recurrent matrix, as the GRU and the LSTM here. Rule: from distance 1 to 32 every recurrent one falls a hundredfold at
    least, the Transformer less than threefold. A fall of more than 10,000 drowns in float32 and is called that."""
    length, bases, directions = 40, 4, 4 if lab.quick else 12
    distances = (1, 2, 4, 8, 16, 24, 32, 39)
    text, _ = random_sentences(lab, "distance.txt", bases, length)
    lines = lines_of(text)
    repeated = [line for line in lines for _ in range(1 + len(distances) * directions)]
    text.write_text("\n".join(repeated) + "\n", encoding="utf-8")
    norms = {}
    for name, training in START.items():
        model, embedded = lab.trained(training), lab.scratch("embedded.h5")
        lab.pipe(["tokenize", "-m", model], ["embed", "-m", model, "-o", embedded], text=text)
        rng = np.random.default_rng(5)
        with h5py.File(embedded, "r+") as file:
            values = file["embeddings/values"][()]
            size = 0.02 * np.linalg.norm(values[0, 0])
            per_base = values.reshape(bases, -1, *values.shape[1:])  # a view
            moves = rng.normal(size=(len(distances), directions, values.shape[-1]))
            moves *= size / np.linalg.norm(moves, axis=-1, keepdims=True)
            for i, distance in enumerate(distances):
                rows = slice(1 + i * directions, 1 + (i + 1) * directions)
                per_base[:, rows, length - distance] += moves[i].astype("f4")
            file["embeddings/values"][...] = values
        encoded = lab.scratch("moved.h5")
        lab.pipe(["encode", "-m", model, embedded, "-o", encoded])
        last = read_group(encoded, "encoder")["states"][:, -1, length].astype("f8")
        last = last.reshape(bases, -1, last.shape[-1])
        moved = np.linalg.norm(last[:, 1:] - last[:, :1], axis=-1).reshape(bases, len(distances), directions) / size
        norms[name] = np.sqrt((moved ** 2).mean((0, 2)))
    near, far = distances.index(1), distances.index(32)
    falls = {name: float(norm[near] / norm[far]) for name, norm in norms.items()}
    recurrent = [fall for name, fall in falls.items() if name != "Transformer"]
    flat = max(falls["Transformer"], 1 / falls["Transformer"]) < 3
    return Finding("norm of d h_T / d x_j by differences between embed and encode, untrained encoders, distance 1 "
                   "against 32",
                   "; ".join(f"{name} falls {'over 10,000' if fall > 1e4 else f'{fall:.2g}'}-fold"
                             for name, fall in falls.items()),
                   HOLDS if flat and min(recurrent) >= 100 else PARTLY if flat or min(recurrent) >= 100 else FAILS,
                   [Chart("gradient", "curves", ("distance", *norms),
                          [(distance, *[float(norm[i] / norm[near]) for norm in norms.values()])
                           for i, distance in enumerate(distances)],
                          sum((["--y", name] for name in norms), ["--log-y", "--y-title", "relative to distance 1"]))])


@claim("P30", "States of a bidirectional encoder see both sides, 2 x 128 = 256 numbers", "S1:67-73",
       [COPY["bahdanau"], *AHEAD.values()])
def both_sides(lab):
    """(a) A linear probe of the states of a trained bidirectional encoder for the next letter, from the forward half, the
    backward half and both. (b) Trained, with about equally many parameters: output word t is source letter t + 2, and
    attention sees t - 1 .. t + 1 (Luong's local-m, D = 1, the least), with the encoder in one direction or both. The
    decoder starts from the encoder's last state, so that something of the whole sentence reaches it either way: 12 to 20
    letters are much for that state, not nothing. Rule: forward only below 30 % in (a), below half in (b); both directions
    above 90 %."""
    model = lab.trained(COPY["bahdanau"])
    text, letters = random_sentences(lab, "sides.txt", 40 if lab.quick else 400, 20, letters=8)
    states = read_group(lab.encode(model, text, "sides"), "encoder")["states"][:, 0, :19].astype("f8")
    half = states.shape[-1] // 2
    found = [probe(part, letters[:, 1:]) for part in (states[..., :half], states[..., half:], states)]
    data = lab.task("ahead")
    solved = {sides: word_accuracy(lab.translate(lab.trained(one), data / "test.source"),
                                   lines_of(data / "test.target"))[0] for sides, one in AHEAD.items()}
    return Finding(f"next letter of 8 (chance 12 %): by a linear probe of the {half} + {half} = {2 * half} numbers of a "
                   "state; letter t + 2 of 16 by trained systems whose attention sees t - 1 .. t + 1",
                   f"probe: forward half {found[0]:.0%}, backward half {found[1]:.0%}, both {found[2]:.0%}; trained: "
                   + ", ".join(f"{sides} {share:.0%} ({lab.parameters(AHEAD[sides]):,} parameters)"
                               for sides, share in solved.items()),
                   verdict_of(found[0] < 0.3 and found[2] > 0.9,
                              solved["forward only"] < 0.5 and solved["bidirectional"] > 0.9))


def layer_norm(x, gamma, beta, epsilon=1e-5):
    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) + beta


@claim("P32", "The skip connection keeps information", "S2:159", [*SKIP.values(), START_POST])
def skip(lab):
    """(a) With the last matrices of both sublayers set to zero in the model file, a post-norm block gives LN(LN(x)), for
    it has two sublayers. (b) Six-layer encoders trained to copy, with and
    without residual: a linear probe of every layer's states for the letter at the position. Rule: with the residual more
    than 95 % behind the last layer, without it less than half of that, and a loss
    lower by 0.1 with it; in part, when only (a) is so."""
    text, letters = random_sentences(lab, "skip.txt", 40 if lab.quick else 300, 16)
    exact = silent_block(lab, text)
    rows, losses = [], {}
    for kept in SKIP:
        model = lab.trained(SKIP[kept])
        states = read_group(lab.encode(model, text, "skip", "--all-layers"), "encoder")["states"][:, :, :16]
        rows.append([probe(states[:, layer].astype("f8"), letters) for layer in range(states.shape[1])])
        losses[kept] = float(lab.metrics(SKIP[kept])["valid_loss"][-1])
    good = rows[0][-1] > 0.95 and rows[1][-1] < rows[0][-1] / 2 and losses["false"] - losses["true"] >= 0.1
    return Finding("block with silent sublayers against LN(LN(x)); letter found in the states of layer 6 by a linear "
                   "probe; loss when trained to copy",
                   f"difference {exact:.1e}; with residual {rows[0][-1]:.0%}, loss {losses['true']:.3f}; without "
                   f"{rows[1][-1]:.0%}, loss {losses['false']:.3f} (chance 6 %, {np.log(16):.2f})",
                   HOLDS if good and exact <= 1e-5 else PARTLY if exact <= 1e-5 else FAILS,
                   [Chart("probe", "curves", ("layer", "with residual", "without"),
                          [(i + 1, *shares) for i, shares in enumerate(zip(*rows))],
                          ("--y", "with residual", "--y", "without", "--y-title", "letters found by a linear probe"))])


def silent_block(lab, text):
    """Largest difference between a post-norm block whose sublayers are zero and LN(LN(x))."""
    model = lab.scratch("silent.h5")
    shutil.copyfile(lab.trained(START_POST), model)
    with h5py.File(model, "r+") as file:
        del file.attrs["model_digest"]  # it is another model now
        layer = file["model/parameters/encoder/layer_0"]
        for last in ("self_attention/output", "feed_forward/outer"):
            for part in layer[last].values():
                part[...] = 0
        norms = [(layer[f"{name}_norm/gamma"][()], layer[f"{name}_norm/beta"][()])
                 for name in ("self_attention", "feed_forward")]
    encoded = lab.encode(model, text, "silent", "--layers", "0:1")
    x = read_group(encoded, "embeddings")["values"].astype("f8")
    states = read_group(encoded, "encoder")["states"][:, 0]
    for gamma, beta in norms:
        x = layer_norm(x, gamma, beta)
    return float(abs(states - x).max())
