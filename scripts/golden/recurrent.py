"""What the recurrent systems share: cells, readout, and the shapes of their parameters."""
import torch

from golden.equations import linear
from golden.model import Model

GATES = {"rnn": ["candidate"], "gru": ["update", "reset", "candidate"],
         "gru-reset-after": ["update", "reset", "candidate"],
         "lstm": ["input", "forget", "output", "candidate"]}


class Recurrent(Model):
    """What the recurrent models share. A state is the pair (h, c); only the LSTM has a c."""

    fixed = dict(dropout=0.0)  # what the config says besides the sizes that the equations need

    def gate(self, name, x, context, reads):
        """W x + b (+ C context) + U reads, before the nonlinearity."""
        total = linear(x, self.parameter(f"input/{name}/weight"), self.parameter(f"input/{name}/bias"))
        if context is not None:
            total = total + context @ self.parameter(f"context/{name}/weight")
        return total + (0 if reads is None else reads @ self.parameter(f"recurrent/{name}/weight"))

    def cell(self, kind, x, state, context=None, inside=False):
        """`context` enters every gate; `inside`: the candidate's part behind the reset gate (Cho et al.)."""
        h, c = self.next_state(kind, x, state, context, inside)
        return self.name("hidden", h), c

    def next_state(self, kind, x, state, context, inside):
        h, c = state
        if kind == "rnn":
            return self.name("candidate", torch.tanh(self.gate("candidate", x, context, h))), None
        if kind == "lstm":  # Hochreiter, Schmidhuber 1997, with the forget gate of Gers et al.
            i, f, o = (self.name(name, torch.sigmoid(self.gate(name, x, context, h)))
                       for name in ("input", "forget", "output"))
            g = self.name("candidate", torch.tanh(self.gate("candidate", x, context, h)))
            c = self.name("cell", f * c + i * g)
            return o * torch.tanh(c), c
        z = self.name("update", torch.sigmoid(self.gate("update", x, context, h)))
        r = self.name("reset", torch.sigmoid(self.gate("reset", x, context, h)))
        if kind == "gru":
            candidate = torch.tanh(self.gate("candidate", x, context, r * h))
        else:  # the reset gate behind the product
            inner = linear(h, self.parameter("recurrent/candidate/weight"),
                           self.parameter("recurrent/candidate/bias"))
            if inside:
                inner = inner + context @ self.parameter("context/candidate/weight")
            candidate = torch.tanh(self.gate("candidate", x, None if inside else context, None) + r * inner)
        self.name("candidate", candidate)
        return (1 - z) * h + z * candidate, None

    def embed(self, side, ids):
        with self.scope(side):
            return self.name("embedded", self.parameter("embedding/weight")[ids])

    def run(self, kind, x, first=None, backward=False, **context):
        """h of all steps [n, d_hidden], and the last state. backward: x is a sentence turned round."""
        zeros = torch.zeros(self.config["d_hidden"], dtype=torch.float64)
        state, states = first or (zeros, zeros), []
        with self.steps(backward):
            for x_t in x:
                state = self.cell(kind, x_t, state, **context)
                states.append(state[0])
        return torch.stack(states), state

    def run_source(self, kind, x):
        """The same, the source forwards or backwards; row j belongs to word j in both."""
        if not self.config["reverse_source"]:
            return self.run(kind, x)
        h, last = self.run(kind, x.flip(0), backward=True)
        return h.flip(0), last

    def maxout(self, state, words, from_context):
        with self.scope("readout"):
            t = self.linear("state", state) + words @ self.parameter("embedding/weight") + from_context
        return t.reshape(len(t), -1, 2).max(-1).values

    def logits(self, states):
        return states @ self.parameters["decoder/output/weight"]


def add_recurrent(shapes, layer, cell, d_in, n, d_context=0):
    for gate in GATES[cell]:
        shapes[f"{layer}/input/{gate}/weight"] = (d_in, n)
        shapes[f"{layer}/input/{gate}/bias"] = (n,)
        shapes[f"{layer}/recurrent/{gate}/weight"] = (n, n)
        if d_context:
            shapes[f"{layer}/context/{gate}/weight"] = (d_context, n)
    if cell == "gru-reset-after":
        shapes[layer + "/recurrent/candidate/bias"] = (n,)


def add_readout(shapes, n, m, d_context, l):
    for part, width in (("state", n), ("embedding", m), ("context", d_context)):
        shapes[f"decoder/readout/{part}/weight"] = (width, 2 * l)
    shapes["decoder/readout/state/bias"] = (2 * l,)


def embedding_shapes(config):
    return {"encoder/embedding/weight": (config["source_vocab_size"], config["d_embedding"]),
            "decoder/embedding/weight": (config["target_vocab_size"], config["d_embedding"])}
