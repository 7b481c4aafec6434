"""A decoder alone: Radford, Narasimhan, Salimans, Sutskever 2018; pre-norm and learned positions as in Radford et al. 2019."""
import torch

from golden import transformer
from golden.model import TARGET_LENGTHS, make_sentences

VARIANTS = {
    "decoder_pre_norm": dict(
        norm="pre", tied="decoder", positions="learned", d_model=12, d_ff=18, n_heads=3, n_decoder_layers=2,
        target_vocab_size=21),
    "decoder_post_norm": dict(
        norm="post", tied="none", positions="sinusoidal", d_model=10, d_ff=16, n_heads=2, n_decoder_layers=3,
        target_vocab_size=17),
}


class Decoder(transformer.Transformer):
    """p(y) = prod_t p(y_t | y_1 .. y_(t-1))."""

    def draw_text(self, random):
        return {"target": make_sentences(random, TARGET_LENGTHS, self.config["target_vocab_size"])}

    def forward(self, text):
        self.record = {}
        return torch.cat([self.logits(self.decode(None, t)) for t in text["target"]])


def shapes_of(config):
    shapes = transformer.stack_shapes(config, "decoder", config["target_vocab_size"], ["self_attention"])
    if config["tied"] == "none":
        shapes["decoder/output/weight"] = (config["d_model"], config["target_vocab_size"])
    return shapes
