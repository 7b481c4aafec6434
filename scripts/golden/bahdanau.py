"""Bahdanau, Cho, Bengio 2015."""
import torch

from golden.equations import softmax
from golden.model import BOS
from golden.recurrent import Recurrent, add_readout, add_recurrent, embedding_shapes

VARIANTS = {
    "bahdanau_gru": dict(
        cell="gru", readout_state="current", align_bias=False, d_embedding=6, d_hidden=5, d_align=7, d_maxout=4,
        source_vocab_size=19, target_vocab_size=17),
    "bahdanau_reset_after": dict(
        cell="gru-reset-after", readout_state="previous", align_bias=True, d_embedding=5, d_hidden=6, d_align=4,
        d_maxout=3, source_vocab_size=13, target_vocab_size=21),
    "bahdanau_lstm": dict(
        cell="lstm", readout_state="current", align_bias=True, d_embedding=7, d_hidden=4, d_align=6, d_maxout=5,
        source_vocab_size=15, target_vocab_size=16),
    "bahdanau_rnn": dict(
        cell="rnn", readout_state="previous", align_bias=False, d_embedding=4, d_hidden=7, d_decoder=5, d_align=5, d_maxout=6,
        source_vocab_size=18, target_vocab_size=14),
    "bahdanau_normed": dict(
        cell="gru", layer_norm=True, readout_state="current", align_bias=False, d_embedding=5, d_hidden=9, d_align=6,
        d_maxout=3, source_vocab_size=14, target_vocab_size=15),
}


class Bahdanau(Recurrent):
    """Bahdanau, Cho, Bengio 2015, sections 3.1, 3.2 and appendix A; E, W_a, ... as there."""

    def run_direction(self, direction, x):
        with self.scope("encoder", "layer_0", direction):
            return self.run(self.config["cell"], x, backward=direction == "backward")[0]

    def encode(self, source):
        x = self.embed("encoder", source)
        h = torch.cat([self.run_direction("forward", x), self.run_direction("backward", x.flip(0)).flip(0)], -1)
        with self.scope("encoder"):
            with self.scope("layer_0"):
                self.name("output", h)
            return self.name("output", h)

    def align(self, s_prev, h):
        """e_ij = v_a tanh(W_a s_(i-1) + U_a h_j), alpha_ij = softmax_j, c_i = sum_j alpha_ij h_j."""
        query, key = s_prev @ self.parameter("query/weight"), h @ self.parameter("key/weight")
        if self.config["align_bias"]:
            key = key + self.parameter("query/bias")
        e = torch.tanh(query + key) @ self.parameter("score/weight")
        alpha = softmax(e)
        return query, key, e, alpha, alpha @ h

    def decode(self, h, target):
        n = self.config["d_hidden"]
        words = self.embed("decoder", [BOS] + target[:-1])
        with self.scope("decoder"):
            s_0 = torch.tanh(self.linear("initial", h[0, n:]))
            with self.scope("initial"):
                self.name("output", s_0[None])
            d = self.config.get("d_decoder", n)
            state, steps = (s_0[:d], s_0[d:]), []
            with self.steps():
                for word in words:
                    before = state[0]
                    with self.scope("layer_0", "cross_attention"):
                        query, key, e, alpha, context = self.align(before, h)
                    with self.scope("layer_0", "state"):
                        state = self.cell(self.config["cell"], word, state, context)
                    read = before if self.config["readout_state"] == "previous" else state[0]
                    steps.append((query, e, alpha, context, state[0], read))
            query, e, alpha, context, after, read = (torch.stack(values) for values in zip(*steps))
            with self.scope("layer_0"):
                with self.scope("cross_attention"):
                    self.name("query", query)
                    self.name("key", key)
                    self.name("value", h)
                    self.name("scores", e[None])
                    self.name("weights", alpha[None])
                    self.name("context", context)
                self.name("output", after)
            return self.name("output", self.maxout(read, words, context @ self.parameter("readout/context/weight")))


def shapes_of(config):
    m, n, a, l = (config[key] for key in ("d_embedding", "d_hidden", "d_align", "d_maxout"))
    shapes, d = embedding_shapes(config), config.get("d_decoder", n)
    add_recurrent(shapes, "encoder/layer_0/forward", config["cell"], m, n, options=config)
    add_recurrent(shapes, "encoder/layer_0/backward", config["cell"], m, n, options=config)
    add_recurrent(shapes, "decoder/layer_0/state", config["cell"], m, d, 2 * n, options=config)
    width = 2 * d if config["cell"] == "lstm" else d
    shapes["decoder/initial/weight"], shapes["decoder/initial/bias"] = (n, width), (width,)
    align = "decoder/layer_0/cross_attention"
    shapes[align + "/query/weight"] = (d, a)
    if config["align_bias"]:
        shapes[align + "/query/bias"] = (a,)
    shapes[align + "/key/weight"] = (2 * n, a)
    shapes[align + "/score/weight"] = (a,)
    add_readout(shapes, d, m, 2 * n, l)
    shapes["decoder/output/weight"] = (l, config["target_vocab_size"])
    return shapes
