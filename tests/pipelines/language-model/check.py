"""States, traces and attention of a language model say the same."""
import h5py
import numpy as np

files = {name: h5py.File(name + ".h5") for name in ("states", "layers", "decoded", "attention", "layer", "parts", "read")}


def same(what, a, b, tolerance=1e-5):
    print(what, "equal" if a.shape == b.shape and np.abs(a - b).max() < tolerance else (a.shape, b.shape))


states = files["states"]["encoder/states"][()]
same("layer 0", states[:, 0], files["layers"]["decoder/layer_0/output/values"][()])
same("the last layer", states[:, 1], files["layers"]["decoder/output/values"][()])
same("encode and decode", states[:, 1], files["decoded"]["decoder/output/values"][()])
weights = files["attention"]["self_attention/weights"][()]
same("attend", weights[:, 0], files["layer"]["attention/weights"][:, 0])
same("after a prompt", weights, files["parts"]["self_attention/weights"][()])
length = files["read"]["embeddings/length"][()]
rows = [weights[s, :, :, i, :length[s]].sum(-1) for s in range(len(length)) for i in range(length[s])]
print("rows sum to", np.round(np.unique(np.round(rows, 5)), 5))
print("the future", "unseen" if not np.triu(weights, 1).any() else "seen")
