"""Plain arrays for attend, and what NumPy makes of them.  usage: arrays.py write | check NAME"""
import sys

import h5py
import numpy as np


def write():
    rng = np.random.default_rng(1)
    draw = lambda *shape: rng.normal(size=shape).astype("f4")
    mask = rng.random((2, 3, 5)) < 0.5
    mask[:, :, 2] = True
    closed = np.ones((3, 5), "u1")
    closed[1] = 0
    nan = draw(4, 6)
    nan[2, 3] = np.nan
    arrays = dict(q=draw(2, 3, 6), k=draw(2, 5, 6), v=draw(2, 5, 4), x=rng.normal(size=(7, 8)), mask=mask,
                  closed=closed, sdpa_q=draw(2, 3, 4, 5), sdpa_k=draw(2, 3, 7, 5), sdpa_v=draw(2, 3, 7, 6),
                  one_k=draw(5, 6), one_v=draw(5, 4), three=draw(3, 5, 6), integers=np.arange(6).reshape(2, 3),
                  nan=nan, huge=(draw(3, 2) * 1e15).astype("f4"), overflow=(draw(3, 2) * 1e25).astype("f4"))
    with h5py.File("a.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
        file["cut/x"], file["cut/length"] = arrays["three"], np.array([5, 2, 3])


def attention(q, k, v, scale, allowed=True, hard=False):
    scores = q @ np.swapaxes(k, -1, -2) * scale
    allowed = np.broadcast_to(allowed, scores.shape)
    if hard:
        weights = (scores == scores.max(-1, keepdims=True)).astype(q.dtype)
    else:
        largest = np.where(allowed, scores, -np.inf).max(-1, keepdims=True, initial=-1e300)
        weights = np.where(allowed, np.exp(np.minimum(scores - largest, 0)), 0)
        weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    return weights, weights @ v


def heads(x, n):
    return x.reshape(*x.shape[:-1], n, -1).swapaxes(-2, -3)


def check(name):
    a = {key: value[()] for key, value in h5py.File("a.h5").items() if isinstance(value, h5py.Dataset)}
    wide = {key: value.astype("f8") if value.dtype.kind == "f" else value for key, value in a.items()}
    q, k, v, x = (wide[key] for key in "qkvx")
    root6 = 6 ** -0.5
    wanted = dict(
        heads=lambda: attention(heads(q, 2), heads(k, 2), heads(v, 2), 3 ** -0.5),
        causal=lambda: attention(x, x, x, 1, np.tri(7, dtype=bool)),
        mask=lambda: attention(q, k, v, root6 / 0.5, a["mask"]),
        argmax=lambda: attention(q, k, v, 1, hard=True),
        closed=lambda: attention(q, k, v, root6, a["closed"].astype(bool)),
        sdpa=lambda: attention(wide["sdpa_q"], wide["sdpa_k"], wide["sdpa_v"], 5 ** -0.5),
        shared=lambda: attention(q, wide["one_k"], wide["one_v"], root6),
        cut=lambda: attention(wide["three"], wide["three"], wide["three"], root6,
                              np.arange(5) < np.array([5, 2, 3])[:, None, None]),
        huge=lambda: attention(wide["huge"], wide["huge"], wide["huge"], 1),
    )[name]()
    weights, context = wanted
    if name == "cut":  # padding is zero
        for s, length in enumerate((5, 2, 3)):
            weights[s, length:] = context[s, length:] = 0
    out = {key: value[()] for key, value in h5py.File("out.h5")["attention"].items()}
    if weights.ndim == 4:  # heads side by side
        context = np.concatenate(list(context.swapaxes(0, 1)), axis=-1)
    got = out["weights"].reshape(weights.shape), out["context"].reshape(context.shape)
    tolerance = 1e-12 if out["weights"].dtype == "f8" else 1e-5
    for g, w in zip(got, (weights, context)):
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)
    if name == "closed":
        assert (out["weights"][..., 1, :] == 0).all() and (out["context"][..., 1, :] == 0).all()
    if name == "heads":
        scale = 3 ** -0.5
        np.testing.assert_allclose(out["scores"], out["products"] * scale, rtol=1e-6)
        np.testing.assert_allclose(out["weighted_values"].sum(-2), out["head_context"], rtol=1e-5, atol=1e-6)
        assert (out["masked"] == out["scores"]).all()
    print(f"{name}: {weights.size} weights in {out['weights'].dtype}")


if sys.argv[1] == "write":
    write()
else:
    check(sys.argv[2])
