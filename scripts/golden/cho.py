"""Cho et al. 2014."""
import torch

from golden.model import BOS
from golden.recurrent import Recurrent, add_readout, add_recurrent, embedding_shapes

VARIANTS = {
    "cho_paper": dict(
        cell="gru", decoder_cell="gru-reset-after", reverse_source=False, d_embedding=4, d_hidden=6, d_maxout=5,
        source_vocab_size=17, target_vocab_size=19),
    "cho_mixed": dict(
        cell="lstm", decoder_cell="gru", reverse_source=True, d_embedding=5, d_hidden=4, d_maxout=3,
        source_vocab_size=14, target_vocab_size=13),
}


class Cho(Recurrent):
    """Cho et al. 2014, appendix A; V, V', C, O_h, O_y, O_c as there."""

    def encode(self, source):
        x = self.embed("encoder", source)
        with self.scope("encoder"):
            with self.scope("layer_0", "state"):
                h, last = self.run_source(self.config["cell"], x)
            with self.scope("layer_0"):
                self.name_final(last)
            self.name("output", h)
            c = torch.tanh(self.linear("summary", last[0]))
            with self.scope("summary"):
                self.name("output", c[None])
            return c

    def decode(self, c, target):
        n = self.config["d_hidden"]
        words = self.embed("decoder", [BOS] + target[:-1])
        with self.scope("decoder"):
            first = torch.tanh(self.linear("initial", c))
            with self.scope("initial"):
                self.name("output", first[None])
            with self.scope("layer_0", "state"):
                h, _ = self.run(self.config["decoder_cell"], words, (first[:n], first[n:]), context=c,
                                inside=self.config["decoder_cell"] == "gru-reset-after")
            with self.scope("layer_0"):
                self.name("output", h)
            s = self.maxout(h, words, c @ self.parameter("readout/context/weight"))
            return self.name("output", s @ self.parameter("readout/projection/weight"))


def shapes_of(config):
    shapes = embedding_shapes(config)
    m, n, l = (config[key] for key in ("d_embedding", "d_hidden", "d_maxout"))
    width = 2 * n if config["decoder_cell"] == "lstm" else n
    add_recurrent(shapes, "encoder/layer_0/state", config["cell"], m, n)
    add_recurrent(shapes, "decoder/layer_0/state", config["decoder_cell"], m, n, n)
    shapes["encoder/summary/weight"], shapes["encoder/summary/bias"] = (n, n), (n,)
    shapes["decoder/initial/weight"], shapes["decoder/initial/bias"] = (n, width), (width,)
    add_readout(shapes, n, m, n, l)
    shapes["decoder/readout/projection/weight"] = (l, m)
    shapes["decoder/output/weight"] = (m, config["target_vocab_size"])
    return shapes
