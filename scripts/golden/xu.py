"""Xu et al. 2015, on text."""
import torch

from golden.equations import softmax
from golden.model import BOS
from golden.recurrent import Recurrent, add_recurrent, embedding_shapes

VARIANTS = {
    "xu_gate": dict(
        cell="lstm", attend_to="mean", context_gate=True, doubly_stochastic=0.0, d_embedding=5, d_hidden=4, d_align=6,
        source_vocab_size=15, target_vocab_size=17),
    "xu_penalty": dict(
        cell="gru", attend_to="mean", context_gate=False, doubly_stochastic=0.7, d_embedding=4, d_hidden=5, d_align=3,
        source_vocab_size=18, target_vocab_size=13),
    "xu_normed": dict(
        cell="gru-reset-after", layer_norm=True, attend_to="mean", context_gate=True, doubly_stochastic=0.0, d_embedding=4,
        d_hidden=3, d_align=5, source_vocab_size=13, target_vocab_size=16),
}


class Xu(Recurrent):
    """Xu et al. 2015 with soft attention, equations 1-7, 13, 14; a, f_att, f_beta, L_h, L_z, L_o as there."""

    def encode(self, source):
        x, h = self.embed("encoder", source), []
        for direction, words in (("forward", x), ("backward", x.flip(0))):
            with self.scope("encoder", "layer_0", direction):
                h.append(self.run(self.config["cell"], words, backward=direction == "backward")[0])
        with self.scope("encoder"):
            return self.name("output", torch.cat([h[0], h[1].flip(0)], -1))

    def decode(self, a, target):
        n = self.config["d_hidden"]
        words = self.embed("decoder", [BOS] + target[:-1])
        with self.scope("decoder"):
            first = torch.tanh(self.linear("initial", a.mean(0)))
            with self.scope("initial"):
                self.name("output", first[None])
            state, steps = (first[:n], first[n:]), []
            with self.steps():
                for word in words:
                    with self.scope("layer_0", "cross_attention"):
                        query = state[0] @ self.parameter("query/weight")
                        key = a @ self.parameter("key/weight") + self.parameter("query/bias")
                        e = torch.tanh(query + key) @ self.parameter("score/weight")
                        alpha = softmax(e)
                        z = alpha @ a
                        if self.config["context_gate"]:  # section 4.2.1: beta
                            z = self.name("gate", torch.sigmoid(self.linear("gate", state[0]))) * z
                    with self.scope("layer_0", "state"):
                        state = self.cell(self.config["cell"], word, state, z)
                    steps.append((query, e, alpha, z, state[0]))
            query, e, alpha, z, h = (torch.stack(values) for values in zip(*steps))
            with self.scope("layer_0"):
                with self.scope("cross_attention"):
                    for name, value in dict(query=query, key=key, value=a, scores=e[None], weights=alpha[None],
                                            probabilities=alpha[None], context=z).items():
                        self.name(name, value)
                self.name("output", h)
            with self.scope("readout"):
                total = words + h @ self.parameter("state/weight") + z @ self.parameter("context/weight")
            return self.name("output", total)

    def extra_loss(self):
        return self.config["doubly_stochastic"] * sum(
            ((1 - alpha[0].sum(0)) ** 2).sum()
            for alpha in self.record["decoder/layer_0/cross_attention/weights"])


def shapes_of(config):
    m, n, a = (config[key] for key in ("d_embedding", "d_hidden", "d_align"))
    shapes = embedding_shapes(config)
    add_recurrent(shapes, "encoder/layer_0/forward", config["cell"], m, n, options=config)
    add_recurrent(shapes, "encoder/layer_0/backward", config["cell"], m, n, options=config)
    add_recurrent(shapes, "decoder/layer_0/state", config["cell"], m, n, 2 * n, options=config)
    width = 2 * n if config["cell"] == "lstm" else n
    shapes["decoder/initial/weight"], shapes["decoder/initial/bias"] = (2 * n, width), (width,)
    align = "decoder/layer_0/cross_attention/"
    shapes[align + "query/weight"], shapes[align + "query/bias"] = (n, a), (a,)
    shapes[align + "key/weight"] = (2 * n, a)
    shapes[align + "score/weight"] = (a,)
    if config["context_gate"]:
        shapes[align + "gate/weight"], shapes[align + "gate/bias"] = (n, 1), (1,)
    shapes["decoder/readout/state/weight"], shapes["decoder/readout/context/weight"] = (n, m), (2 * n, m)
    shapes["decoder/output/weight"] = (m, config["target_vocab_size"])
    return shapes
