"""The lens of a run from its trace and its model's parameters, by NumPy. usage: check.py MODEL RUN"""
import json
import sys

import h5py
import numpy

model, run = sys.argv[1:]
with h5py.File(model) as file:
    config = json.loads(file["model/config"][0])
    parameters = file["model/parameters"]
    table = (parameters["embedding/weight"] if "embedding" in parameters else parameters["decoder/embedding/weight"])[:].astype(float)
    norm = [parameters[f"decoder/final_norm/{name}"][:].astype(float) for name in ("gamma", "beta")] if config["norm"] == "pre" else None
    pieces = [piece.decode() for piece in file["model/vocabulary/piece"][:]]
layers = config["n_decoder_layers"] + 1
most = 0.0
with h5py.File(run + ".h5") as lens, h5py.File(run + ".trace.h5") as trace:
    lens = lens["lens"]
    for s, length in enumerate(lens["length"][:]):
        produced = [pieces.index(piece.decode()) for piece in lens["token"][s, :length]]
        for layer in range(layers):
            name = "decoder/embedded" if layer == 0 else f"decoder/layer_{layer - 1}/output"
            x = trace[name + "/values"][s, :length].astype(float)
            if norm:
                x = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + config["norm_epsilon"]) * norm[0] + norm[1]
            logits = x @ table.T
            p = numpy.exp(logits - logits.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            own = p[numpy.arange(length), produced]
            most = max(most, abs(own - lens["probability"][s, layer, :length]).max(), abs(p.max(1) - lens["best_probability"][s, layer, :length]).max())
            rank = 1 + (p > own[:, None] * (1 + 1e-5)).sum(1)
            least = 1 + (p > own[:, None] * (1 - 1e-5)).sum(1)
            assert ((rank <= lens["rank"][s, layer, :length]) & (lens["rank"][s, layer, :length] <= least)).all(), (s, layer)
            best = [pieces.index(piece.decode()) for piece in lens["best_piece"][s, layer, :length]]
            assert (p[numpy.arange(length), best] >= p.max(1) * (1 - 1e-5)).all(), (s, layer)
        assert (lens["rank"][s, :, length:] == 0).all()
        if "decoder/probabilities" in trace:
            last = trace["decoder/probabilities/values"][s, :length]
            assert abs(last[numpy.arange(length), produced] - lens["probability"][s, layers - 1, :length]).max() < 1e-6, s
    print("as by NumPy" if most < 2e-6 else most, lens["probability"].shape)
