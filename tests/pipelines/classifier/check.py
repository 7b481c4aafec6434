"""States are a trace's layer outputs; what is pooled is what the attention weighs; probabilities are of the logits."""
import h5py
import numpy as np

encode, decode, layers = (h5py.File(name + ".h5") for name in ("encode", "decode", "layers"))


def same(what, a, b):
    print(what, "equal" if a.shape == b.shape and np.abs(a - b).max() < 1e-5 else (a.shape, b.shape))


states = layers["encoder/states"][()]
same("layer 0", states[:, 0], encode["encoder/layer_0/output/values"][()])
same("the last layer", states[:, 1], encode["encoder/output/values"][()])
weights = decode["classes/attention/weights/values"][()]
pooled = decode["classes/pooled/values"][()]
print("weights", weights.shape, "sum to", np.unique(np.round(weights.sum(-1), 5)))
mean = np.einsum("sk,skd->sd", weights.reshape(len(states), -1), states[:, 1])
same("pooled", pooled.reshape(mean.shape), mean)
