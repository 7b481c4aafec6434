"""What the recurrent systems share: cells, readout, and the shapes of their parameters."""
import torch

from golden.equations import layer_norm
from golden.model import Model

GATES = {"rnn": ["candidate"], "gru": ["update", "reset", "candidate"],
         "gru-reset-after": ["update", "reset", "candidate"],
         "lstm": ["input", "forget", "output", "candidate"]}


class Recurrent(Model):
    """What the recurrent models share. A state is the pair (h, c); only the LSTM has a c."""

    fixed = dict(dropout=0.0)  # what the config says besides the sizes that the equations need

    CONTEXT = "context"  # the part whose matrices read what else enters the gates

    def products(self, kind, part, x, gates):
        """W x + b of some gates, or U x. With layer_norm (Ba, Kiros, Hinton 2016, eq. 20-22 and 27-29) LN(W x) + b and
        LN(U x), over all gates at once, in a GRU over z and r and over the candidate."""
        values = {gate: x @ self.parameter(f"{part}/{gate}/weight") for gate in gates}
        bias = {gate: self.parameter(f"input/{gate}/bias") if part == "input" else 0 for gate in gates}
        if not self.config.get("layer_norm"):
            return {gate: values[gate] + bias[gate] for gate in gates}
        gain = dict(zip(GATES[kind], self.parameter(part + "_norm/gamma").reshape(len(GATES[kind]), -1)))
        for group in [["update", "reset"], ["candidate"]] if kind.startswith("gru") else [GATES[kind]]:
            if group[0] in gates:
                normed = layer_norm(torch.cat([values[gate] for gate in group]), torch.cat([gain[gate] for gate in group]), 0)
                values.update(zip(group, normed.chunk(len(group))))
        return {gate: self.name(f"{part}_norm/{gate}", values[gate] + bias[gate]) for gate in gates}

    def cell(self, kind, x, state, context=None, inside=False):
        """`context` enters every gate; `inside`: the candidate's part behind the reset gate (Cho et al.)."""
        h, c = self.next_state(kind, x, state, context, inside)
        return self.name("hidden", h), c

    def next_state(self, kind, x, state, context, inside):
        h, c = state
        early = [gate for gate in GATES[kind] if kind != "gru" or gate != "candidate"]
        w, u = self.products(kind, "input", x, GATES[kind]), self.products(kind, "recurrent", h, early)
        more = {gate: 0 if context is None else context @ self.parameter(f"{self.CONTEXT}/{gate}/weight")
                for gate in GATES[kind]}
        if kind == "rnn":
            return self.name("candidate", torch.tanh(w["candidate"] + more["candidate"] + u["candidate"])), None
        if kind == "lstm":
            return self.lstm({gate: w[gate] + more[gate] + u[gate] for gate in early}, c)
        z, r = (self.name(gate, torch.sigmoid(w[gate] + more[gate] + u[gate])) for gate in ("update", "reset"))
        if kind == "gru":
            outside, inner = more["candidate"], self.products(kind, "recurrent", r * h, ["candidate"])["candidate"]
        else:  # the reset gate behind the product
            outside, inner = more["candidate"], u["candidate"] + self.parameter("recurrent/candidate/bias")
            if inside:
                outside, inner = 0, inner + more["candidate"]
            inner = r * inner
        g = self.name("candidate", torch.tanh(w["candidate"] + outside + inner))
        return (1 - z) * h + z * g, None

    def lstm(self, sums, c):
        """Hochreiter, Schmidhuber 1997, with the forget gate and peepholes of Gers et al."""
        def gate(name, seen):
            peephole = self.parameter(f"peephole/{name}/weight") * seen if self.config.get("peepholes") else 0
            return self.name(name, torch.sigmoid(sums[name] + peephole))
        i, f = gate("input", c), gate("forget", c)
        c = self.name("cell", f * c + i * self.name("candidate", torch.tanh(sums["candidate"])))
        shown = c
        if self.config.get("layer_norm"):
            shown = self.name("cell_norm/output",
                              layer_norm(c, self.parameter("cell_norm/gamma"), self.parameter("cell_norm/beta")))
        return gate("output", c) * torch.tanh(shown), c

    def name_start(self, kind, state):
        """What a layer starts from that is given nothing."""
        self.name("start", torch.cat(state if kind == "lstm" else state[:1])[None])

    def name_final(self, state):
        """What a layer hands on to the decoder."""
        for name, value in zip(("final_h", "final_c"), state):
            if value is not None:
                self.name(name, value[None])

    def embed(self, side, ids):
        with self.scope(side):
            return self.name("embedded", self.parameter("embedding/weight")[ids])

    def run(self, kind, x, first=None, backward=False, **context):
        """h of all steps [n, d_hidden], and the last state. backward: x is a sentence turned round."""
        states = []
        if first is None:
            zeros = torch.zeros(self.config["d_hidden"], dtype=torch.float64)
            first = zeros, zeros
            self.name_start(kind, first)
        state = first
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


def add_recurrent(shapes, layer, cell, d_in, n, d_context=0, options=()):
    for gate in GATES[cell]:
        shapes[f"{layer}/input/{gate}/weight"] = (d_in, n)
        shapes[f"{layer}/input/{gate}/bias"] = (n,)
        shapes[f"{layer}/recurrent/{gate}/weight"] = (n, n)
        if d_context:
            shapes[f"{layer}/context/{gate}/weight"] = (d_context, n)
    if cell == "gru-reset-after":
        shapes[layer + "/recurrent/candidate/bias"] = (n,)
    if "peepholes" in options:
        shapes.update({f"{layer}/peephole/{gate}/weight": (n,) for gate in ("input", "forget", "output")})
    if "layer_norm" in options:
        shapes[layer + "/input_norm/gamma"] = shapes[layer + "/recurrent_norm/gamma"] = (len(GATES[cell]) * n,)
        if cell == "lstm":
            shapes[layer + "/cell_norm/gamma"] = shapes[layer + "/cell_norm/beta"] = (n,)


def add_readout(shapes, n, m, d_context, l):
    for part, width in (("state", n), ("embedding", m), ("context", d_context)):
        shapes[f"decoder/readout/{part}/weight"] = (width, 2 * l)
    shapes["decoder/readout/state/bias"] = (2 * l,)


def embedding_shapes(config):
    return {"encoder/embedding/weight": (config["source_vocab_size"], config["d_embedding"]),
            "decoder/embedding/weight": (config["target_vocab_size"], config["d_embedding"])}
