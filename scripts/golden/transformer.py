"""Vaswani et al. 2017."""
import math

import torch

from golden.equations import EPSILON, attention, layer_norm, sinusoids
from golden.model import BOS, Model

MAX_LENGTH = 8
VARIANTS = {
    "transformer_post_norm": dict(
        norm="post", tied="all", positions="sinusoidal", d_model=12, d_ff=20, n_heads=2,
        n_encoder_layers=2, n_decoder_layers=3, source_vocab_size=23, target_vocab_size=23),
    "transformer_pre_norm": dict(
        norm="pre", tied="none", positions="learned", d_model=10, d_ff=14, n_heads=2,
        n_encoder_layers=2, n_decoder_layers=1, source_vocab_size=19, target_vocab_size=17),
    "transformer_no_positions": dict(
        norm="post", tied="decoder", positions="none", d_model=9, d_ff=16, n_heads=3,
        n_encoder_layers=1, n_decoder_layers=2, source_vocab_size=13, target_vocab_size=21),
}


class Transformer(Model):
    """Vaswani et al. 2017."""

    fixed = dict(max_length=MAX_LENGTH, norm_epsilon=EPSILON, dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0,
                 activation_dropout=0.0)  # what the config says besides the sizes that the equations need

    def norm(self, x):
        return layer_norm(x, self.parameter("gamma"), self.parameter("beta"))

    def embedding_table(self, side):
        if self.config.get("tied") == "all":
            return self.parameters["embedding/weight"]
        return self.parameters[side + "/embedding/weight"]

    def embed(self, side, ids):
        d = self.config["d_model"]
        x = self.embedding_table(side)[ids] * math.sqrt(d)
        if self.config["positions"] == "sinusoidal":
            x = x + sinusoids(len(ids), d)
        elif self.config["positions"] == "learned":
            x = x + self.parameters[side + "/positions/weight"][:len(ids)]
        with self.scope(side):
            return self.name("embedded", x)

    def multi_head(self, x, memory, causal):
        query = self.name("query", self.linear("query", x))
        key = self.name("key", self.linear("key", memory))
        value = self.name("value", self.linear("value", memory))
        scores, weights, context = attention(query, key, value, self.config["n_heads"], causal)
        self.name("scores", scores)
        self.name("weights", weights)
        self.name("context", context)
        return self.name("output", self.linear("output", context))

    def feed_forward(self, x):
        inner = self.name("inner", torch.relu(self.linear("inner", x)))
        return self.name("output", self.linear("outer", inner))

    def sublayer(self, name, x, compute):
        """Residual connection and normalisation: after the sum (the paper), or before the sublayer."""
        if self.config["norm"] == "pre":
            with self.scope(name + "_norm"):
                normed = self.name("output", self.norm(x))
            with self.scope(name):
                y = compute(normed)
            with self.scope(name + "_norm"):
                return self.name("sum", x + y)
        with self.scope(name):
            y = compute(x)
        with self.scope(name + "_norm"):
            return self.name("output", self.norm(self.name("sum", x + y)))

    def final_norm(self, x):
        if self.config["norm"] == "post":
            return x
        with self.scope("final_norm"):
            return self.norm(x)

    def stack(self, side, ids, memory=None):
        """All layers of one side; a decoder's see the past only, and the memory if there is one."""
        x = self.embed(side, ids)
        with self.scope(side):
            for i in range(self.config[f"n_{side}_layers"]):
                with self.scope(f"layer_{i}"):
                    x = self.sublayer("self_attention", x,
                                      lambda y: self.multi_head(y, y, causal=side == "decoder"))
                    if memory is not None:
                        x = self.sublayer("cross_attention", x,
                                          lambda y: self.multi_head(y, memory, causal=False))
                    x = self.sublayer("feed_forward", x, self.feed_forward)
                    self.name("output", x)
            return self.name("output", self.final_norm(x))

    def encode(self, source):
        return self.stack("encoder", source)

    def decode(self, memory, target):
        return self.stack("decoder", [BOS] + target[:-1], memory)

    def logits(self, states):
        if self.config["tied"] == "none":
            return states @ self.parameters["decoder/output/weight"]
        return states @ self.embedding_table("decoder").T


def stack_shapes(config, side, vocab_size, attentions):
    """Of one side; no embedding table where both sides share one (vocab_size None)."""
    d, d_ff = config["d_model"], config["d_ff"]
    shapes = {}

    def add_linear(path, d_in, d_out):
        shapes[path + "/weight"] = (d_in, d_out)
        shapes[path + "/bias"] = (d_out,)

    def add_norm(path):
        shapes[path + "/gamma"] = (d,)
        shapes[path + "/beta"] = (d,)

    if vocab_size:
        shapes[side + "/embedding/weight"] = (vocab_size, d)
    if config["positions"] == "learned":
        shapes[side + "/positions/weight"] = (MAX_LENGTH, d)
    for i in range(config[f"n_{side}_layers"]):
        path = f"{side}/layer_{i}"
        for name in attentions:
            for part in ("query", "key", "value", "output"):
                add_linear(f"{path}/{name}/{part}", d, d)
            add_norm(f"{path}/{name}_norm")
        add_linear(path + "/feed_forward/inner", d, d_ff)
        add_linear(path + "/feed_forward/outer", d_ff, d)
        add_norm(path + "/feed_forward_norm")
    if config["norm"] == "pre":
        add_norm(side + "/final_norm")
    return shapes


def shapes_of(config):
    d, source_size, target_size = config["d_model"], config["source_vocab_size"], config["target_vocab_size"]
    one_table = config["tied"] == "all"
    shapes = {"embedding/weight": (source_size, d)} if one_table else {}
    shapes |= stack_shapes(config, "encoder", None if one_table else source_size, ["self_attention"])
    shapes |= stack_shapes(config, "decoder", None if one_table else target_size, ["self_attention", "cross_attention"])
    if config["tied"] == "none":
        shapes["decoder/output/weight"] = (d, target_size)
    return shapes
