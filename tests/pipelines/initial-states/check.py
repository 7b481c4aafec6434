"""States of recurrent encoders from given first states, against the equations of GRU and LSTM in float64.
usage: check.py  (in a scratch directory, with encode in PATH)"""
import subprocess

import h5py
import numpy as np

rng = np.random.default_rng(5)
SENTENCES, D = 6, 8


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Layer:
    """One direction of a layer, by its parameters in a model's file."""

    def __init__(self, model, path):
        with h5py.File(model) as file:
            group = file[f"model/parameters/{path}"]
            values = {name: np.float64(group[name][()]) for name in self.names(group)}
        self.w = {gate: values[f"input/{gate}/weight"] for gate in self.GATES}
        self.b = {gate: values[f"input/{gate}/bias"] for gate in self.GATES}
        self.u = {gate: values[f"recurrent/{gate}/weight"] for gate in self.GATES}

    @staticmethod
    def names(group):
        found = []
        group.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        return found

    def sum(self, gate, x, h):
        return x @ self.w[gate] + self.b[gate] + h @ self.u[gate]

    def states(self, x, first, backward=False):
        """h of every position, and the last state: h, of an LSTM with c behind it."""
        state, h = np.float64(first), np.zeros((len(x), D))
        for t in reversed(range(len(x))) if backward else range(len(x)):
            state = self.step(x[t], state)
            h[t] = state[:D]
        return h, state


class Gru(Layer):
    GATES = ("update", "reset", "candidate")

    def step(self, x, h):
        z, r = sigmoid(self.sum("update", x, h)), sigmoid(self.sum("reset", x, h))
        return (1 - z) * h + z * np.tanh(self.sum("candidate", x, r * h))


class Lstm(Layer):
    GATES = ("input", "forget", "output", "candidate")

    def step(self, x, state):
        h, c = state[:D], state[D:]
        i, f, o = (sigmoid(self.sum(gate, x, h)) for gate in ("input", "forget", "output"))
        c = f * c + i * np.tanh(self.sum("candidate", x, h))
        return np.concatenate([o * np.tanh(c), c])


def encoded(model, *patches):
    """States [sentence, position, dim], and the file."""
    options = [word for patch in patches for word in ("--patch", patch)]
    subprocess.run(["encode", "-m", f"{model}.h5", f"{model}-embeddings.h5", "-o", "out.h5", *options], check=True)
    return h5py.File("out.h5")


def embeddings(model):
    with h5py.File(f"{model}-embeddings.h5") as file:
        return file["embeddings/values"][:], file["embeddings/length"][:]


def compare(what, ours, wanted):
    error = max(np.abs(a - b).max() for a, b in zip(ours, wanted, strict=True))
    print(what, "agrees" if error < 2e-6 else f"differs by {error}")


def bidirectional():
    forward, backward = Gru("gru.h5", "encoder/layer_0/forward"), Gru("gru.h5", "encoder/layer_0/backward")
    first, last = rng.normal(size=(SENTENCES, D)), rng.normal(size=D)
    np.save("first.npy", first)
    np.savez("last.npz", all=last)
    x, length = embeddings("gru")

    def wanted(first, last):
        return [np.hstack([forward.states(x[s, :n], first[s])[0], backward.states(x[s, :n], last, backward=True)[0]])
                for s, n in enumerate(length)]

    def ours(*patches):
        with encoded("gru", *patches) as file:
            return [file["encoder/states"][s, 0, :n] for s, n in enumerate(length)]
    place = "encoder/layer_0/{}/start={}"
    compare("GRU, zeros", ours(), wanted(np.zeros((SENTENCES, D)), np.zeros(D)))
    compare("GRU, a row for each sentence and one for all",
            ours(place.format("forward", "first.npy:array"), place.format("backward", "last.npz:all")), wanted(first, last))
    one = np.zeros((SENTENCES, D))
    one[3] = first[3]
    compare("GRU, one sentence", ours(place.format("forward", "first.npy:array@3")), wanted(one, np.zeros(D)))


def stacked():
    layers = [Lstm("lstm.h5", f"encoder/layer_{i}/state") for i in range(2)]
    starts = rng.normal(size=(2, SENTENCES, 2 * D))
    with h5py.File("starts.h5", "w") as file:
        for i, start in enumerate(starts):
            data = file.create_dataset(f"layer_{i}", data=start)
            data.attrs["dims"] = ["sentence", "dim"]
    x, length = embeddings("lstm")
    states, last = [], np.zeros((SENTENCES, 2, 2 * D))
    for s, n in enumerate(length):
        h = x[s, :n]
        for i, layer in enumerate(layers):
            h, last[s, i] = layer.states(h, starts[i, s], backward=True)  # Luong reads the source from its end
        states.append(h)
    patches = [f"encoder/layer_{i}/state/start=starts.h5:layer_{i}" for i in range(2)]
    with encoded("lstm", *patches) as file:
        compare("LSTM, two layers", [file["encoder/states"][s, 0, :n] for s, n in enumerate(length)], states)
        compare("LSTM, its last h", file["encoder/final_h"][:], last[..., :D])
        compare("LSTM, its last c", file["encoder/final_c"][:], last[..., D:])


bidirectional()
stacked()
np.save("wide.npy", np.zeros((SENTENCES, D + 1)))
np.save("few.npy", np.zeros((SENTENCES - 1, D)))
np.save("nan.npy", np.full((SENTENCES, D), np.nan))
