"""Makes the pages that check.cjs tries, with h5py and the tools, and writes what they must show to wanted.json."""
import json
import subprocess

import h5py
import numpy

PIECES = ["the", "gol@@", "den", "key", "</s>"]
random = numpy.random.default_rng(7)


def softmax(scores):
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)).astype("f4")


def add(f, name, kind, weights, dims, words):
    group = f.create_group(name)
    group.attrs["NX_class"], group.attrs["signal"] = "NXdata", "weights"
    group["title"] = "Title of " + name
    group["weights"] = weights
    group["weights"].attrs["kind"], group["weights"].attrs["long_name"] = kind, "attention weight"
    for axis, dim in enumerate(dims):
        group["weights"].dims[axis].label = dim
    for dim, (lead, labels) in words.items():
        group.create_dataset(dim + "_token", data=numpy.array(labels, dtype=object), dtype=h5py.string_dtype())
        for axis, label in enumerate([*lead, dim]):
            group[dim + "_token"].dims[axis].label = label


def page(source, name, *arguments):
    subprocess.run(["viz-dump", source, "--html", name, *arguments], check=True)


def make_words():
    """Two sentences, two hypotheses, three layers, four heads; five pieces."""
    other = ["\u05e9\u05dc\u05d5\u05dd", "\u6c34", "</script><b>", "e\u0301t\u00e9", "</s>"]
    cross = softmax(3 * random.standard_normal((2, 2, 3, 4, 5, 5)))
    own = softmax(3 * random.standard_normal((2, 2, 4, 5, 5)))
    with h5py.File("words.h5", "w") as f:
        f.attrs["default"] = "cross_attention"  # h5py lists groups by name, so it comes second
        ranked = [[["la", "cl@@", "\u00e9", "or", "</s>"], ["une", "clef", "d'", "or", "</s>"]], [["a", "b", "c", "d", "</s>"], other]]
        add(f, "cross_attention", "cross", cross, ["sentence", "rank", "layer", "head", "query", "key"],
            {"query": (["sentence", "rank"], ranked), "key": (["sentence"], [PIECES, other])})
        add(f, "attention_encoder", "encoder_self", own, ["sentence", "layer", "head", "query", "key"],
            {"query": (["sentence"], [PIECES, other]), "key": (["sentence"], [PIECES, other])})
    page("words.h5", "words.html")
    return {"cross": cross.tolist(), "own": own.tolist()}


def make_steps():
    with h5py.File("operands.h5", "w") as f:
        for name, shape in {"q": (1, 40, 16), "k": (1, 40, 16), "v": (1, 40, 16)}.items():
            f[name] = random.standard_normal(shape).astype("f4")
    for name, options in {"steps": [], "tempered": ["--temperature", "0.5"]}.items():
        subprocess.run(["attend", "--query", "operands.h5:/q", "--key", "operands.h5:/k", "--value", "operands.h5:/v", "--heads", "2",
                        "--mask", "causal", *options, "--steps", "-o", name + ".h5"], check=True)
        page(name + ".h5", name + ".html")
    with h5py.File("steps.h5") as f:
        group = f["attention"]
        return {name: group[name][0, 0].tolist() for name in ("products", "scores", "weights", "weighted_values", "head_context", "context")}


def make_long():
    place = numpy.arange(500)
    scores = 1.5 * random.gumbel(size=(2, 2, 500, 500)) - 0.06 * abs(place[:, None] - place)
    words = [["w" + str(i) for i in place]]
    with h5py.File("long.h5", "w") as f:
        add(f, "attention", "encoder_self", softmax(scores)[None], ["sentence", "layer", "head", "query", "key"],
            {"query": (["sentence"], words), "key": (["sentence"], words)})
    page("long.h5", "long.html")
    with h5py.File("plain.h5", "w") as f:
        f["x"] = random.standard_normal((6, 9))
    page("plain.h5", "plain.html")
    with h5py.File("plain.h5") as f, h5py.File("long.h5") as g:
        return {"plain": f["x"][()].astype("f4").tolist(), "long": g["attention/weights"][0, 1, 1, 250].tolist()}


wanted = {"words": make_words(), "steps": make_steps(), **make_long()}
with open("wanted.json", "w") as f:
    json.dump(wanted, f, allow_nan=True)
