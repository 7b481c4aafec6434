"""Links of one head of kept attention, of words that are pieces: links.py FILE LAYER HEAD."""

import sys

import h5py

path, layer, head = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with h5py.File(path) as file:
    group = file["cross_attention"]
    for weights, queries, keys in zip(group["weights"][:, layer, head], group["query_length"], group["key_length"]):
        links = {(int(row[: keys - 1].argmax()), target) for target, row in enumerate(weights[: queries - 1])}
        print(*(f"{source}-{target}" for source, target in sorted(links)))
