"""Tensors and weights that attend must refuse, or that come near to that."""
import h5py
import numpy as np

nan = np.ones((8, 8))
nan[2, 3] = np.nan
nan_bias, closed = np.zeros((5, 7), "f4"), np.zeros((5, 7), "f4")
nan_bias[1, 1] = np.nan
closed[3] = -np.inf
with h5py.File("m.h5", "w") as file:
    file["three_heads"] = np.ones((2, 3, 7, 3), "f4")
    file["many"] = np.ones((12, 6), "f4")
    file["qkv/qkv/weight"] = np.ones((8, 24), "f4")
    file["typo/querry/weight"] = np.ones((8, 8), "f4")
    file["nan/query/weight"] = nan
    file["integers/query/weight"] = np.ones((8, 8), "i4")
    file["nothing/here"] = np.ones(1)
    file["only_bias/query/bias"] = np.ones(8)
    file["nan_bias"] = nan_bias
    file["closed_bias"] = closed
    file["tiny"] = np.array([[1e-3, 2e-3], [3e-3, -1e-3]], "f4")
    file["hiding"] = np.array([[0, -np.inf], [10, 0]], "f4")
    file["far"] = np.array([[0, 1e300], [0, 0]])
