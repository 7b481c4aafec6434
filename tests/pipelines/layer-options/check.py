"""The steps of a layer's attention agree with each other, and with what the whole model does."""
import h5py
import numpy as np


def blocks(file):
    group = h5py.File(file)["attention"]
    names = ("query_vector", "key_vector", "value_vector", "products", "scores", "weights", "head_context")
    for s, (n, m) in enumerate(zip(group["query_length"], group["key_length"])):
        values = {name: group[name][s, 0] for name in names}
        if "position_bias" in group:
            values["position_bias"] = group["position_bias"][s, 0][:, :n, :m]
        for name in ("products", "scores", "weights"):
            values[name] = values[name][:, :n, :m]
        for name in ("query_vector", "head_context"):
            values[name] = values[name][:, :n]
        for name in ("key_vector", "value_vector"):
            values[name] = values[name][:, :m]
        yield values


def check(file, kv_heads, scale, causal, window):
    worst = largest = 0.0
    for x in blocks(file):
        heads, n, m = x["weights"].shape
        assert x["key_vector"].shape[0] == kv_heads
        of = np.arange(heads) * kv_heads // heads
        products = x["query_vector"] @ x["key_vector"][of].transpose(0, 2, 1)
        scores = products * scale + x.get("position_bias", 0)
        i, j = np.arange(n)[:, None], np.arange(m)[None, :]
        seen = ((j <= i) | (not causal)) & ((abs(j - i) < window) | (window == 0))
        powers = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
        weights = powers / powers.sum(-1, keepdims=True)
        for name, wanted in (("products", products), ("scores", scores), ("weights", weights),
                             ("head_context", weights @ x["value_vector"][of])):
            worst = max(worst, float(abs(x[name] - wanted).max()))
            largest = max(largest, float(abs(wanted).max()))
    assert worst < 2e-5 and largest > 0.1, (file, worst, largest)
    print(file, "agrees with its steps")


check("llama_layer.h5", 2, 6 ** -0.5, True, 5)
check("pair_layer.h5", 3, 1.0, False, 0)
check("gemma_layer_1.h5", 2, 10 ** -0.5, True, 3)
check("gemma_layer_2.h5", 2, 10 ** -0.5, True, 24)
check("modern_layer.h5", 2, 6 ** -0.5, False, 3)

# What was found word by word is as probable when it is read at once.
for model in "", "gemma_":
    with h5py.File(model + "found.h5") as found, h5py.File(model + "forced.h5") as forced:
        shape = min(found["hypotheses/token_logprob"].shape[2], forced["hypotheses/token_logprob"].shape[2])
        a = found["hypotheses/token_logprob"][:, 0, :shape]
        b = forced["hypotheses/token_logprob"][:, 0, :shape]
        length = np.minimum(found["hypotheses/length"][:, 0], forced["hypotheses/length"][:, 0])
        same = np.arange(shape)[None, :] < length[:, None] - 1
        assert same.sum() > 20 and abs(a - b)[same].max() < 1e-5, abs(a - b)[same].max()
        print("word by word as at once")

with h5py.File("saliency.h5") as file:
    scores = file["saliency/scores"][()]
    assert np.isfinite(scores).all() and abs(scores).max() > 0
    print("saliency is there")

# In parallel, what a layer gives is its input and what both sublayers make of it.
with h5py.File("parallel_values.h5") as file:
    value = {name: file[f"decoder/{name}/values"][()] for name in (
        "embedded", "layer_0/self_attention/output", "layer_0/feed_forward/output", "layer_0/output")}
    found = value.pop("layer_0/output")
    assert abs(sum(value.values()) - found).max() < 1e-5 and not np.allclose(found, value["embedded"])
    print("in parallel both are added")
