"""Every option of attend without a model against reference.py, and the properties of attention.
usage: check.py  (in a scratch directory, with attend in PATH)"""
import subprocess

import h5py
import numpy as np
from reference import attention

rng = np.random.default_rng(7)


def draw(*shape):
    return rng.normal(size=shape).astype("f4")


def linear(d_in, d_out):
    return (rng.normal(size=(d_in, d_out)) / np.sqrt(d_in)).astype("f4")


ARRAYS = dict(
    q=draw(2, 5, 8), k=draw(2, 7, 8), v=draw(2, 7, 6), k6=draw(2, 7, 6), x=draw(2, 6, 8), one=draw(5, 8),
    k4=draw(2, 7, 4), v4=draw(2, 7, 4), bias2=draw(5, 7), bias3=draw(4, 5, 7), bias4=draw(2, 4, 5, 7),
    row_bias=draw(1, 1, 7), bias_of_heads=draw(4, 7, 7), long_q=draw(9, 8), qh=draw(2, 4, 5, 3), kh=draw(2, 2, 7, 3), vh=draw(2, 2, 7, 5))
MASK = rng.random((2, 5, 7)) < 0.6
MASK[..., 1] = True
MASK4 = rng.random((2, 4, 5, 7)) < 0.6
MASK4[..., 1] = True
ARRAYS.update(mask=MASK, mask4=MASK4)
ARRAYS["first"] = np.arange(7) < 5
ARRAYS.update(past_k=draw(2, 2, 3, 4), past_v=draw(2, 2, 3, 3))
ARRAYS["inf_bias"] = np.where(MASK[0], ARRAYS["bias2"], -np.inf).astype("f4")

WEIGHTS = dict(
    general={"score/weight": linear(8, 6)},
    general_heads={"score/weight": draw(2, 4, 3)},
    additive={"query/weight": linear(8, 10), "query/bias": draw(10), "key/weight": linear(6, 10),
              "score/weight": draw(10)},
    additive_heads={"query/weight": linear(8, 10), "key/weight": linear(6, 10), "score/weight": draw(2, 5)},
    additive_plain={"score/weight": draw(8)},
    large={"query/weight": linear(8, 10) * 15, "key/weight": linear(6, 10) * 15, "score/weight": draw(10)},
    concat={"concat/weight": linear(14, 9), "concat/bias": draw(9), "score/weight": draw(9)},
    concat_heads={"concat/weight": draw(2, 7, 9), "score/weight": draw(9)},
    location={"score/weight": linear(8, 11)},
    projections={"query/weight": linear(8, 12), "query/bias": draw(12), "key/weight": linear(8, 12),
                 "key/bias": draw(12), "value/weight": linear(6, 20), "value/bias": draw(20),
                 "output/weight": linear(20, 3), "output/bias": draw(3)},
    grouped={"query/weight": linear(8, 12), "key/weight": linear(8, 6), "value/weight": linear(6, 10),
             "output/weight": linear(20, 8)},
    turning={"query/weight": linear(8, 16), "key/weight": linear(8, 8), "value/weight": linear(8, 6),
             "output/weight": linear(12, 8)},
    predictive={"position/query/weight": linear(8, 4), "position/score/weight": draw(4)},
    heads={name: linear(6, 8) for name in ("query/weight", "key/weight", "value/weight")},
    identity={"query/weight": np.eye(8, dtype="f4"), "key/weight": np.eye(8, dtype="f4"),
              "value/weight": np.eye(6, dtype="f4")})


def write():
    with h5py.File("a.h5", "w") as file:
        for name, array in ARRAYS.items():
            file[name] = array
    with h5py.File("w.h5", "w") as file:
        for group, weights in WEIGHTS.items():
            for name, array in weights.items():
                file[f"{group}/{name}"] = array


def run(*options, query="q", key="k", value="v", more=()):
    words = ["attend", "-q", "--query", f"a.h5:/{query}"]
    if key:
        words += ["--key", f"a.h5:/{key}", "--value", f"a.h5:/{value}"]
    words += [word for option in options for word in option.split()] + list(more) + ["-o", "out.h5"]
    subprocess.run(words, check=True)
    with h5py.File("out.h5") as file:
        return {name: data[()] for name, data in file["attention"].items() if isinstance(data, h5py.Dataset)}


def close(got, wanted, tolerance=1e-5):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def compare(name, options, query="q", key="k", value="v", weights="", per_sentence=lambda s: {}, **settings):
    """Runs attend with --steps and compares every stage of every sentence."""
    more = ["--parameters", f"w.h5:/{weights}"] if weights else []
    out = run(options, "--steps", query=query, key=key, value=value, more=more)
    arrays = [ARRAYS[a].astype("f8") for a in (query, key or query, value if key else query)]
    w = {path: array.astype("f8") for path, array in WEIGHTS[weights].items()} if weights else None
    count = 0
    for s in range(out["weights"].shape[0]):
        one = [a if a.ndim == 2 else a[s] for a in arrays]
        wanted = attention(*one, weights=w, **settings, **per_sentence(s))
        for stage, values in wanted.items():
            if stage not in out:
                continue
            close(out[stage][s, 0], values)
            count += values.size
        assert (out["weights"][s, 0][np.isneginf(wanted["masked"])] == 0).all()
    rows = out["weights"].sum(-1)
    assert (rows <= 1 + 1e-6).all()
    print(f"{name}: {count} values")
    return out


def scores():
    for kind in ("dot", "scaled-dot"):
        compare(kind, f"--score {kind}", kind=kind)
    compare("general", "--score general", key="k6", weights="general", kind="general")
    compare("general by head", "--score general --heads 2", key="k6", weights="general_heads", kind="general", heads=2)
    compare("additive", "--score additive", key="k6", weights="additive", kind="additive")
    compare("additive by head", "--score additive --heads 2", key="k6", weights="additive_heads", kind="additive",
            heads=2)
    compare("additive unprojected", "--score additive", weights="additive_plain", kind="additive")
    compare("additive far from 0", "--score additive", key="k6", weights="large", kind="additive")
    compare("concat", "--score concat", key="k6", weights="concat", kind="concat")
    compare("concat by head", "--score concat --heads 2", key="k6", weights="concat_heads", kind="concat", heads=2)
    compare("location", "--score location", key="k6", weights="location", kind="location")
    compare("one query for all", "--score dot", query="one", kind="dot")


def many_heads():
    compare("projections", "--heads 4", weights="projections", heads=4)
    compare("grouped", "--heads 4 --kv-heads 2", weights="grouped", heads=4, kv_heads=2)
    compare("grouped, unprojected", "--heads 2 --kv-heads 1", key="k4", value="v4", heads=2, kv_heads=1)
    compare("self", "--self --heads 2", query="x", key="", heads=2)
    out = run(query="qh", key="kh", value="vh")  # heads as a dimension: grouped by itself
    for s in range(2):
        for h in range(4):
            wanted = attention(*(ARRAYS[a].astype("f8")[s, i] for a, i in (("qh", h), ("kh", h // 2), ("vh", h // 2))))
            close(out["weights"][s, 0, h], wanted["weights"][0])
            close(out["context"][s, 0][:, 5 * h : 5 * h + 5], wanted["context"])
    print("grouped tensors by head")


def over_the_scores():
    compare("softcap", "--softcap 0.7", softcap=0.7)
    compare("bias", "--bias a.h5:/bias2", bias=ARRAYS["bias2"])
    compare("bias by head", "--heads 2 --bias a.h5:/row_bias", heads=2, value="v4", bias=ARRAYS["row_bias"])
    compare("bias by sentence and head", "--heads 4 --bias a.h5:/bias4", heads=4, value="v4",
            per_sentence=lambda s: dict(bias=ARRAYS["bias4"][s]))
    compare("bias of heads", "--heads 4 --bias a.h5:/bias3", heads=4, value="v4", bias=ARRAYS["bias3"])
    compare("bias that hides", "--bias a.h5:/inf_bias", bias=ARRAYS["inf_bias"].astype("f8"))
    compare("softcap, bias, mask, causal, temperature",
            "--softcap 2 --bias a.h5:/bias2 --mask causal,a.h5:/mask --temperature 0.5 --allow-masked-rows", softcap=2,
            bias=ARRAYS["bias2"], causal="end", temperature=0.5, per_sentence=lambda s: dict(mask=MASK[s]))
    compare("mask by head", "--heads 4 --mask a.h5:/mask4", value="v4", heads=4,
            per_sentence=lambda s: dict(mask=MASK4[s]))
    compare("causal from the start", "--mask causal-start", causal="start")
    compare("argmax", "--hard argmax --mask a.h5:/mask", hard=True, per_sentence=lambda s: dict(mask=MASK[s]))


def places():
    """What depends on where queries and keys stand: windows, rotary positions, keys and values of the past."""
    compare("scale", "--score-scale 0.3", scale=0.3)
    compare("scale of additive", "--score additive --score-scale 0.3 --softcap 2", key="k6", weights="additive", kind="additive",
            scale=0.3, softcap=2)
    for before, after in ((1, 0), (0, 2), (-1, 3), (4, -2)):
        compare(f"band {before}:{after}", f"--mask band={before}:{after} --allow-masked-rows", band=(before, after))
    compare("band, causal and two masks", "--mask band=5:1,a.h5:/mask,causal,a.h5:/first --allow-masked-rows",
            band=(5, 1), causal="end", per_sentence=lambda s: dict(mask=MASK[s] & ARRAYS["first"]))
    compare("rotary", "--heads 2 --rotary 100", weights="projections", heads=2, rotary=100)
    by_sentence = lambda s: dict(past=(ARRAYS["past_k"][s].astype("f8"), ARRAYS["past_v"][s].astype("f8")))
    words = "--past-key a.h5:/past_k --past-value a.h5:/past_v"
    compare("past", f"--heads 2 {words} --mask causal", value="v", heads=2, causal="end", per_sentence=by_sentence)
    compare("past, rotary, band", f"--heads 2 {words} --mask band=3:0 --rotary 10000", heads=2, rotary=10000, band=(3, 0),
            per_sentence=by_sentence)

    # A text at once, and in two parts of which the second reads what the first wrote: the same.
    with h5py.File("parts.h5", "w") as file:
        file["first"], file["second"] = ARRAYS["x"][:, :4], ARRAYS["x"][:, 4:]
    options = "attend -q --parameters w.h5:/turning --heads 4 --kv-heads 2 --mask causal --rotary 10000 --steps".split()
    subprocess.run([*options, "--query", "a.h5:/x", "--self", "-o", "whole.h5"], check=True)
    subprocess.run([*options, "--query", "parts.h5:/first", "--self", "-o", "part1.h5"], check=True)
    subprocess.run([*options, "--query", "parts.h5:/second", "--self", "--past-key", "part1.h5:/attention/key_vector",
                    "--past-value", "part1.h5:/attention/value_vector", "-o", "part2.h5"], check=True)
    with h5py.File("whole.h5") as whole, h5py.File("part2.h5") as part:
        close(part["attention/output"][()], whole["attention/output"][:, :, 4:], 1e-6)
        close(part["attention/key_vector"][()], whole["attention/key_vector"][()], 1e-6)
    print("in two parts as at once")

    # The same of sentences of different lengths: no padding lies between the parts.
    lengths = {"first": (4, 2), "second": (1, 2)}
    with h5py.File("uneven.h5", "w") as file:
        for part, start in (("first", 0), ("second", 4)):
            file[f"{part}/x"] = ARRAYS["x"][:, start : start + max(lengths[part])]
            file[f"{part}/length"] = np.array(lengths[part], "i4")
    subprocess.run([*options, "--query", "uneven.h5:/first/x", "--self", "-o", "part1.h5"], check=True)
    past = ["--past-key", "part1.h5:/attention/key_vector", "--past-value", "part1.h5:/attention/value_vector"]
    subprocess.run([*options, "--query", "uneven.h5:/second/x", "--self", *past, "-o", "part2.h5"], check=True)
    for s, (m, n) in enumerate(zip(*lengths.values())):
        with h5py.File("one.h5", "w") as file:
            file["x"] = np.concatenate([ARRAYS["x"][s, :m], ARRAYS["x"][s, 4 : 4 + n]])
        subprocess.run([*options, "--query", "one.h5:/x", "--self", "-o", "whole.h5"], check=True)
        with h5py.File("whole.h5") as whole, h5py.File("part2.h5") as part:
            assert part["attention/key_length"][s] == m + n
            close(part["attention/weights"][s, ..., :n, : m + n], whole["attention/weights"][0, ..., m:, :], 1e-6)
            close(part["attention/output"][s, :, :n], whole["attention/output"][0, :, m:], 1e-6)
    print("and with sentences of different lengths")


def local():
    out = compare("local-m", "--local local-m --window 2", local="local-m", window=2)
    far = np.abs(np.subtract.outer(np.arange(5), np.arange(7))) > 2
    assert (out["weights"][..., far] == 0).all() and (out["weights"][..., ~far] > 0).all()
    assert np.isneginf(out["scores"][..., far]).all() and np.isfinite(out["scores"][..., ~far]).all()
    compare("local-m past the end", "--local local-m --window 1 --allow-masked-rows", query="long_q", key="x",
            value="x", local="local-m", window=1)
    out = compare("local-p", "--local local-p --window 2", weights="predictive", local="local-p", window=2)
    assert (out["weights"].sum(-1) < 1).all()
    compare("local-m, softcap, bias, temperature", "--local local-m --window 2 --softcap 2 --bias a.h5:/bias2 "
            "--temperature 0.5", local="local-m", window=2, softcap=2, bias=ARRAYS["bias2"], temperature=0.5)
    compare("local-p, masked", "--local local-p --window 3 --mask a.h5:/mask --allow-masked-rows",
            weights="predictive", local="local-p", window=3, per_sentence=lambda s: dict(mask=MASK[s]))
    compare("local-p, argmax", "--local local-p --window 3 --hard argmax", weights="predictive",
            local="local-p", window=3, hard=True)
    everywhere = run("--local local-m --window 7")["weights"]
    close(everywhere, run()["weights"], 1e-6)
    print("P23: a window over all keys is no window")


def properties():
    plain = run()
    close(plain["weights"].sum(-1), np.ones((2, 1, 1, 5)), 1e-6)
    close(run(more=["--parameters", "w.h5:/identity"])["context"], plain["context"], 1e-6)
    print("P25: identity projections change nothing")

    w = WEIGHTS["projections"]
    out = run("--heads 4 --steps", more=["--parameters", "w.h5:/projections"])
    by_head = sum(out["head_context"][:, 0, h] @ w["output/weight"][5 * h : 5 * h + 5] for h in range(4))
    close(out["output"][:, 0], by_head + w["output/bias"])
    print("P26: W_o of the heads side by side is the sum of products head by head")

    with h5py.File("repeated.h5", "w") as file:
        file["q"] = ARRAYS["qh"]
        for name in ("kh", "vh"):
            file[name] = np.repeat(ARRAYS[name], 2, axis=1)
    grouped = run(query="qh", key="kh", value="vh")
    subprocess.run("attend -q --query repeated.h5:/q --key repeated.h5:/kh --value repeated.h5:/vh -o out.h5".split(),
                   check=True)
    with h5py.File("out.h5") as file:
        assert (file["attention/context"][()] == grouped["context"]).all()
    print("grouped heads are repeated heads, to the bit")

    cold, best = run("--temperature 1e-4")["weights"], run("--hard argmax")["weights"]
    close(cold, best, 1e-4)
    print("P27: the coldest softmax picks the best key")


def samples():
    """P3: how often keys are drawn, from 20,000 equal queries."""
    count = 20000
    with h5py.File("s.h5", "w") as file:
        file["q"] = np.repeat(ARRAYS["one"][:1], count, axis=0)
        file["k"] = ARRAYS["k"][0]
    draws = []
    for threads in (1, 2):
        words = f"attend -q --query s.h5:/q --key s.h5:/k --hard sample --steps --seed 3 --threads {threads} -o s_out.h5"
        subprocess.run(words.split(), check=True)
        with h5py.File("s_out.h5") as file:
            draws.append(file["attention/weights"][0, 0, 0])
            p = file["attention/probabilities"][0, 0, 0, 0].astype("f8")
            context = file["attention/context"][0, 0].astype("f8")
    assert (draws[0] == draws[1]).all()
    assert ((draws[0] == 0) | (draws[0] == 1)).all() and (draws[0].sum(-1) == 1).all()
    error = np.sqrt(p * (1 - p) / count)
    assert (np.abs(draws[0].mean(0) - p) < 4 * error).all()
    values = ARRAYS["k"][0].astype("f8")
    deviation = np.sqrt(p @ values**2 - (p @ values) ** 2)
    assert (np.abs(context.mean(0) - p @ values) < 4 * deviation / np.sqrt(count)).all()
    print("P3: samples as often as their weights, the mean value as the context, the same for 1 and 2 threads")


def stacked():
    d, h = 8, 4
    w, bias = linear(d, 3 * d), draw(3 * d)
    o, x = linear(d, d), ARRAYS["x"].astype("f8")
    parts = {"part-major": (w[:, :d], w[:, d : 2 * d], w[:, 2 * d :])}
    shaped = w.reshape(d, h, 3, d // h)
    parts["head-major"] = tuple(shaped[:, :, i].reshape(d, d) for i in range(3))
    biases = {"part-major": np.split(bias, 3),
              "head-major": [bias.reshape(h, 3, d // h)[:, i].reshape(d) for i in range(3)]}
    with h5py.File("stacked.h5", "w") as file:
        file["plain/qkv/weight"], file["plain/qkv/bias"], file["plain/output/weight"] = w, bias, o
        file["turned/qkv/weight"], file["turned/qkv/bias"], file["turned/output/weight"] = w.T, bias, o.T
    for order, matrices in parts.items():
        weights = {f"{name}/weight": m.astype("f8") for name, m in zip(("query", "key", "value"), matrices)}
        weights.update({f"{name}/bias": b for name, b in zip(("query", "key", "value"), biases[order])})
        weights["output/weight"] = o
        for group in ("plain", "turned"):
            turn = " --out-in" if group == "turned" else ""
            out = run(f"--self --heads 4 --qkv-order {order}{turn}", query="x", key="",
                      more=["--parameters", f"stacked.h5:/{group}"])
            for s in range(2):
                close(out["output"][s, 0], attention(x[s], x[s], x[s], weights=weights, heads=4)["output"])
        print(f"qkv/weight {order}, [d_in, d_out] and [d_out, d_in]")


def seeded():
    for options, key in (("--score additive", "k6"), ("--score concat --hidden 5", "k6"), ("--score general", "k6"),
                         ("--score location", "k6"), ("--local local-p --window 2", "k")):
        out = run(options, "--steps --seed 5", key=key)
        with h5py.File("out.h5") as file:
            names = []
            file["attention/parameters"].visititems(
                lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        subprocess.run(f"attend -q --query a.h5:/q --key a.h5:/{key} --value a.h5:/v {options} "
                       "--parameters out.h5:/attention/parameters -o again.h5".split(), check=True)
        with h5py.File("again.h5") as file:
            assert (file["attention/weights"][()] == out["weights"]).all()
        other = run(options, "--seed 6", key=key)
        assert not np.allclose(other["weights"], out["weights"])
        print(f"drawn, kept and read again: {options}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    write()
    for part in (scores, many_heads, over_the_scores, places, local, properties, samples, stacked, seeded):
        part()
