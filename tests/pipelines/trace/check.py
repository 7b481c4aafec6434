"""Two traces hold the same values: equal labels and lengths, numbers to 1e-5 of the largest."""

import sys

import h5py
import numpy as np


def tensors(path):
    found = {}

    def add(name, node):
        if isinstance(node, h5py.Dataset):
            found[name] = np.asarray(node[()])

    with h5py.File(path) as file:
        file.visititems(add)
    return found


one, other = map(tensors, sys.argv[1:])
assert one.keys() == other.keys(), one.keys() ^ other.keys()
for name, values in one.items():
    assert values.shape == other[name].shape, name
    if values.dtype.kind == "f":
        assert np.abs(values - other[name]).max() <= 1e-5 * max(1, np.abs(values).max()), name
    else:
        assert (values == other[name]).all(), name
print(f"{sum(name.endswith('/values') for name in one)} values agree")
