"""Attention as its definitions say, one query at a time in double: what `attend` is compared with."""
import numpy as np


def softmax(x):
    if np.all(np.isneginf(x)):
        return np.zeros_like(x)
    e = np.exp(x - np.max(x))
    return e / e.sum()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def heads_of(x, count):
    """[n, count * d] -> [count, n, d]"""
    return np.stack(np.split(x, count, axis=-1))


def of_head(w, h, rank):
    return w[h] if w.ndim > rank else w


def turned(x, base, first):
    """x [heads, n, d]: pairs (j, j + d/2) of row i as complex numbers, times exp(i (first + i) base^(-2j/d))."""
    half = x.shape[2] // 2
    angles = np.outer(first + np.arange(x.shape[1]), base ** (-np.arange(half) / half))
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], axis=-1)


def score(kind, q, k, j, w, h):
    """e of one query and key j of k."""
    if kind == "dot":
        return q @ k[j]
    if kind == "scaled-dot":
        return q @ k[j] / np.sqrt(k.shape[1])
    if kind == "general":
        return q @ of_head(w["score/weight"], h, 2) @ k[j]
    if kind == "additive":
        return of_head(w["score/weight"], h, 1) @ np.tanh(q + k[j])
    if kind == "concat":
        bias = of_head(w["concat/bias"], h, 1) if "concat/bias" in w else 0
        both = np.concatenate([q, k[j]]) @ of_head(w["concat/weight"], h, 2) + bias
        return of_head(w["score/weight"], h, 1) @ np.tanh(both)
    if kind == "location":
        return q @ of_head(w["score/weight"], h, 2)[:, j]
    raise ValueError(kind)


def attention(q, k, v, kind="scaled-dot", weights=None, heads=1, kv_heads=None, softcap=0, bias=None, mask=None,
              causal="", temperature=1, local="", window=10, hard=False, scale=0, rotary=0, past=None, band=None):
    """One sentence: q [n, d], k [m, d_k], v [m, d_v] -> a dictionary of the stages."""
    w = weights or {}
    given = q
    projected = []
    for name, x in (("query", q), ("key", k), ("value", v)):
        if f"{name}/weight" in w:
            x = x @ w[f"{name}/weight"] + w.get(f"{name}/bias", 0)
        projected.append(x)
    kv_heads = kv_heads or heads
    q, k, v = heads_of(projected[0], heads), heads_of(projected[1], kv_heads), heads_of(projected[2], kv_heads)
    earlier = past[0].shape[1] if past else 0
    if rotary:
        q = turned(q, rotary, earlier + k.shape[1] - q.shape[1])
        k = turned(k, rotary, earlier)
    if past:
        k, v = np.concatenate([past[0], k], axis=1), np.concatenate([past[1], v], axis=1)
    n, m = q.shape[1], k.shape[1]
    shape = heads, n, m
    out = {name: np.full(shape, -np.inf) for name in ("scores", "capped", "biased", "tempered", "masked")}
    out.update({name: np.zeros(shape) for name in ("probabilities", "weights")})
    out["position"] = np.zeros(n)
    out["head_context"] = np.zeros((heads, n, v.shape[2]))
    for h in range(heads):
        kv = h // (heads // kv_heads)
        for i in range(n):
            p = float(i)
            if local == "local-p":
                p = m * sigmoid(w["position/score/weight"] @ np.tanh(given[i] @ w["position/query/weight"]))
            out["position"][i] = p
            keys = [j for j in range(m) if not local or p - window <= j <= p + window]
            for j in keys:
                e = score(kind, q[h, i], k[kv], j, w, h)
                if scale:
                    e *= scale * (np.sqrt(k.shape[2]) if kind == "scaled-dot" else 1)
                out["scores"][h, i, j] = e
                if softcap:
                    e = softcap * np.tanh(e / softcap)
                out["capped"][h, i, j] = e
                if bias is not None:
                    e = e + np.broadcast_to(bias, shape)[h, i, j]
                out["biased"][h, i, j] = e
                e = e / temperature
                out["tempered"][h, i, j] = e
                if mask is not None and not np.broadcast_to(mask, shape)[h, i, j]:
                    e = -np.inf
                if causal == "end" and j > i + m - n or causal == "start" and j > i:
                    e = -np.inf
                if band and not -band[0] <= j - (i + m - n) <= band[1]:
                    e = -np.inf
                out["masked"][h, i, j] = e
            soft = np.zeros(m)
            if keys:
                soft[keys] = softmax(out["masked"][h, i, keys])
            out["probabilities"][h, i] = soft
            alpha = soft.copy()
            if local == "local-p":
                alpha *= np.exp(-((np.arange(m) - p) ** 2) / (2 * (window / 2) ** 2))
            if hard:
                best = int(np.argmax(alpha if local == "local-p" else out["masked"][h, i]))
                alpha = np.where((np.arange(m) == best) & (soft[best] > 0), 1.0, 0.0)
            out["weights"][h, i] = alpha
            for j in range(m):
                out["head_context"][h, i] += alpha[j] * v[kv, j]
    out["context"] = np.concatenate(list(out["head_context"]), axis=-1)
    if "output/weight" in w:
        out["output"] = out["context"] @ w["output/weight"] + w.get("output/bias", 0)
    return out
