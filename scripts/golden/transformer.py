"""Vaswani et al. 2017."""
import math

import torch

from golden.equations import (EPSILON, activation, attention, bucket_of, heads_of, layer_norm, rms_norm, rotary_frequencies,
                              rotate, sinusoids, sinusoids_in_halves, slopes_of)
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
    # T5 1.1 but for the tied output, which is T5 1.0's: Raffel et al. 2020.
    "transformer_t5": dict(
        norm="pre", tied="all", positions="relative_buckets", d_model=12, d_ff=14, n_heads=2, d_head=5,
        n_encoder_layers=2, n_decoder_layers=2, source_vocab_size=19, target_vocab_size=19, norm_kind="rms",
        norm_epsilon=1e-6, activation="gelu_tanh", gated=True, attention_bias="none", feed_forward_bias=False,
        score_scale="1", embedding_scale="1", relative_buckets=8, relative_max_distance=6, logit_scale=12 ** -0.5),
    # Marian as in Hugging Face's transformers, and Marian's own numbers in its training program.
    "transformer_marian": dict(
        norm="post", tied="all", positions="sinusoidal_halves", d_model=12, d_ff=14, n_heads=3, n_encoder_layers=2,
        n_decoder_layers=1, source_vocab_size=19, target_vocab_size=19, activation="silu", output_bias=True,
        final_norm="yes"),
    "transformer_t2t": dict(
        norm="pre", tied="none", positions="sinusoidal_t2t", d_model=8, d_ff=14, n_heads=2, n_encoder_layers=1,
        n_decoder_layers=2, source_vocab_size=13, target_vocab_size=17, activation="gelu_sigmoid", final_norm="no",
        norm_epsilon=1e-6, position_offset=1, n_kv_heads=1),
    # Marian's decoder with a recurrence in place of self-attention: Kim et al. 2019.
    "transformer_ssru": dict(
        norm="post", tied="decoder", positions="sinusoidal_t2t", d_model=12, d_ff=14, n_heads=3, n_encoder_layers=1,
        n_decoder_layers=2, source_vocab_size=19, target_vocab_size=17, decoder_past="ssru"),
}
# For each of the variants with options what would be wrong with them, as other values of the config; "wrong": of things
# that no option offers.
MUTATIONS = {
    "transformer_t5": [dict(norm_epsilon=1e-2), dict(norm_kind="layer"), dict(activation="gelu"), dict(gated=False),
                       dict(score_scale="1/sqrt_d_head"), dict(embedding_scale="sqrt_d"), dict(logit_scale=1.0),
                       dict(relative_max_distance=7), dict(wrong="causal buckets in the encoder"),
                       dict(wrong="gate and inner exchanged")],
    "transformer_marian": [dict(positions="sinusoidal"), dict(positions="sinusoidal_t2t"), dict(activation="gelu_sigmoid"),
                           dict(output_bias=False), dict(final_norm="no")],
    "transformer_t2t": [dict(positions="sinusoidal_halves"), dict(activation="gelu"), dict(position_offset=0),
                        dict(norm_epsilon=1e-1)],
    "transformer_ssru": [dict(wrong="gate turned round"), dict(wrong="no ReLU"), dict(wrong="first cell as it comes")],
}


class Transformer(Model):
    """Vaswani et al. 2017; by options the layers of later models."""

    fixed = dict(max_length=MAX_LENGTH, norm_epsilon=EPSILON, dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0,
                 activation_dropout=0.0)  # what the config says besides the sizes that the equations need

    def option(self, name, default=None):
        return self.config.get(name, default)

    def norm(self, x):
        epsilon = self.option("norm_epsilon", EPSILON)
        if self.option("norm_kind") == "rms":
            return rms_norm(x, self.parameter("gamma"), epsilon)
        beta = self.parameters.get("/".join(self.path + ["beta"]), 0.0)  # a mutation may meet a norm without
        return layer_norm(x, self.parameter("gamma"), beta, epsilon)

    def embedding_table(self, side):
        if self.config.get("tied") == "all":
            return self.parameters["embedding/weight"]
        return self.parameters[side + "/embedding/weight"]

    def embed(self, side, ids):
        d = self.config["d_model"]
        x = self.embedding_table(side)[ids] * (1 if self.option("embedding_scale") == "1" else math.sqrt(d))
        positions, first = self.config["positions"], self.option("position_offset", 0)
        last = first + len(ids)
        if positions == "sinusoidal":
            x = x + sinusoids(last, d)[first:]
        elif positions == "sinusoidal_halves":
            x = x + sinusoids_in_halves(last, d, 10000 ** -((d - 2) / d))[first:]
        elif positions == "sinusoidal_t2t":
            x = x + sinusoids_in_halves(last, d, 1e-4)[first:]
        elif positions == "learned":
            x = x + self.parameters[side + "/positions/weight"][first:last]
        if self.option("embedding_norm"):
            with self.scope(side, "embedding_norm"):
                x = self.norm(x)
        with self.scope(side):
            return self.name("embedded", x)

    def compared(self, part, projected, n_heads, rotates):
        """Queries or keys, named at every stage."""
        x = self.name(part, projected)
        if self.option("qk_norm"):
            gamma = self.parameter(part + "_norm/gamma")
            x = heads_of(x, n_heads)
            x = rms_norm(x, gamma, self.option("norm_epsilon", EPSILON)).permute(1, 0, 2).flatten(1)
            x = self.name("normed_" + part, x)
        if rotates:
            frequencies = rotary_frequencies(
                x.shape[1] // n_heads, self.option("rope_base", 10000.0), self.option("rope_scaling", "none"),
                self.option("rope_factor", 1.0), self.option("rope_low_freq_factor", 1.0),
                self.option("rope_high_freq_factor", 4.0), self.option("rope_original_length", 8192))
            interleaved = self.option("wrong") == "interleaved pairs"
            x = rotate(heads_of(x, n_heads), frequencies, interleaved).permute(1, 0, 2).flatten(1)
            x = self.name("rotated_" + part, x)
        return x

    def position_bias(self, n, causal):
        """[n_heads, n, n] or none."""
        if self.config["positions"] == "alibi":
            distance = (torch.arange(n)[None, :] - torch.arange(n)[:, None]).abs()
            return -torch.tensor(slopes_of(self.config["n_heads"]), dtype=torch.float64)[:, None, None] * distance
        if self.config["positions"] != "relative_buckets":
            return None
        one_way = causal or self.option("wrong") == "causal buckets in the encoder"
        buckets = [[bucket_of(j - i, one_way, self.config["relative_buckets"], self.config["relative_max_distance"])
                    for j in range(n)] for i in range(n)]
        return self.parameters[self.path[0] + "/relative_bias/weight"][torch.tensor(buckets)].permute(2, 0, 1)

    def multi_head(self, x, memory, causal, is_self=True):
        n_heads = self.config["n_heads"]
        n_kv = self.option("n_kv_heads", 0) or n_heads
        kv_of = [h * n_kv // n_heads for h in range(n_heads)] if n_kv < n_heads else None
        if self.option("wrong") == "heads of keys in turn":
            kv_of = [h % n_kv for h in range(n_heads)]
        rotates = is_self and self.config["positions"] == "rotary"
        query = self.compared("query", self.linear("query", x), n_heads, rotates)
        key = self.compared("key", self.linear("key", memory), n_kv, rotates)
        value = self.name("value", self.linear("value", memory))
        bias = self.position_bias(len(x), causal) if is_self else None
        if bias is not None:
            self.name("position_bias", bias)
        scale = 1.0 if self.option("score_scale") == "1" else None
        scores, weights, context = attention(query, key, value, n_heads, causal, scale, bias,
                                             self.option("sliding_window", 0) if is_self else 0, kv_of)
        self.name("scores", scores)
        self.name("weights", weights)
        self.name("context", context)
        return self.name("output", self.linear("output", context))

    def recurrence(self, x):
        """Kim et al. 2019, in place of a decoder's self-attention."""
        candidate = self.name("candidate", self.linear("candidate", x))
        forget = self.name("forget", torch.sigmoid(self.linear("forget", x)))
        kept = 1 - forget if self.option("wrong") == "gate turned round" else forget
        cells, cell = [], candidate[0] if self.option("wrong") == "first cell as it comes" else torch.zeros_like(x[0])
        for f, new in zip(kept, candidate):
            cell = f * cell + (1 - f) * new
            cells.append(cell)
        cells = torch.stack(cells)
        return self.name("output", cells if self.option("wrong") == "no ReLU" else torch.relu(cells))

    def feed_forward(self, x):
        name = self.option("activation", "relu")
        inner = self.linear("inner", x)
        if self.option("gated"):
            gate = self.linear("gate", x)
            if self.option("wrong") == "gate and inner exchanged":
                gate, inner = inner, gate
            inner = self.name("gate", activation(name, gate)) * inner
        else:
            inner = activation(name, inner)
        return self.name("output", self.linear("outer", self.name("inner", inner)))

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
        if self.option("final_norm", "by_norm") == "no" or (
                self.option("final_norm") != "yes" and self.config["norm"] == "post"):
            return x
        with self.scope("final_norm"):
            return self.norm(x)

    def stack(self, side, ids, memory=None):
        """All layers of one side; a decoder's see the past only, and the memory if there is one."""
        x = self.embed(side, ids)
        with self.scope(side):
            for i in range(self.config[f"n_{side}_layers"]):
                with self.scope(f"layer_{i}"):
                    if side == "decoder" and self.option("decoder_past") == "ssru":
                        x = self.sublayer("recurrence", x, self.recurrence)
                    else:
                        x = self.sublayer("self_attention", x,
                                          lambda y: self.multi_head(y, y, causal=side == "decoder"))
                    if memory is not None:
                        x = self.sublayer("cross_attention", x,
                                          lambda y: self.multi_head(y, memory, causal=False, is_self=False))
                    x = self.sublayer("feed_forward", x, self.feed_forward)
                    self.name("output", x)
            return self.name("output", self.final_norm(x))

    def encode(self, source):
        return self.stack("encoder", source)

    def decode(self, memory, target):
        return self.stack("decoder", [BOS] + target[:-1], memory)

    def logits(self, states):
        if self.config["tied"] == "none":
            return self.word_scores(states, self.parameters["decoder/output/weight"], "decoder/output/bias")
        return self.word_scores(states, self.embedding_table("decoder").T, "decoder/output/bias")

    def word_scores(self, states, weight, bias):
        logits = self.option("logit_scale", 1.0) * (states @ weight)
        return logits + self.parameters[bias] if self.option("output_bias") else logits


def stack_shapes(config, side, vocab_size, attentions):
    """Of one side; no embedding table where both sides share one (vocab_size None)."""
    d, d_ff, n_heads = config["d_model"], config["d_ff"], config["n_heads"]
    d_head, n_kv = config.get("d_head") or d // n_heads, config.get("n_kv_heads") or n_heads
    biases = config.get("attention_bias", "all")
    shapes = {}

    def add_linear(path, d_in, d_out, bias=True):
        shapes[path + "/weight"] = (d_in, d_out)
        if bias:
            shapes[path + "/bias"] = (d_out,)

    def add_norm(path):
        shapes[path + "/gamma"] = (d,)
        if config.get("norm_kind") != "rms":
            shapes[path + "/beta"] = (d,)

    if vocab_size:
        shapes[side + "/embedding/weight"] = (vocab_size, d)
    if config["positions"] == "learned":
        shapes[side + "/positions/weight"] = (config.get("position_offset", 0) + MAX_LENGTH, d)
    if config["positions"] == "relative_buckets":
        shapes[side + "/relative_bias/weight"] = (config["relative_buckets"], n_heads)
    if config.get("embedding_norm"):
        add_norm(side + "/embedding_norm")
    for i in range(config[f"n_{side}_layers"]):
        path = f"{side}/layer_{i}"
        if "recurrence" in attentions:
            shapes[f"{path}/recurrence/candidate/weight"] = (d, d)
            add_linear(f"{path}/recurrence/forget", d, d)
            add_norm(path + "/recurrence_norm")
        for name in attentions:
            if name == "recurrence":
                continue
            add_linear(f"{path}/{name}/query", d, n_heads * d_head, biases != "none")
            add_linear(f"{path}/{name}/key", d, n_kv * d_head, biases != "none")
            add_linear(f"{path}/{name}/value", d, n_kv * d_head, biases != "none")
            add_linear(f"{path}/{name}/output", n_heads * d_head, d, biases == "all")
            if config.get("qk_norm"):
                shapes[f"{path}/{name}/query_norm/gamma"] = shapes[f"{path}/{name}/key_norm/gamma"] = (d_head,)
            add_norm(f"{path}/{name}_norm")
        for name in ("inner", "gate") if config.get("gated") else ("inner",):
            add_linear(f"{path}/feed_forward/{name}", d, d_ff, config.get("feed_forward_bias", True))
        add_linear(path + "/feed_forward/outer", d_ff, d, config.get("feed_forward_bias", True))
        add_norm(path + "/feed_forward_norm")
    final = config.get("final_norm", "by_norm")
    if final == "yes" or (final == "by_norm" and config["norm"] == "pre"):
        add_norm(side + "/final_norm")
    return shapes


def shapes_of(config):
    d, source_size, target_size = config["d_model"], config["source_vocab_size"], config["target_vocab_size"]
    one_table = config["tied"] == "all"
    shapes = {"embedding/weight": (source_size, d)} if one_table else {}
    shapes |= stack_shapes(config, "encoder", None if one_table else source_size, ["self_attention"])
    past = "recurrence" if config.get("decoder_past") == "ssru" else "self_attention"
    shapes |= stack_shapes(config, "decoder", None if one_table else target_size, [past, "cross_attention"])
    if config["tied"] == "none":
        shapes["decoder/output/weight"] = (d, target_size)
    if config.get("output_bias"):
        shapes["decoder/output/bias"] = (target_size,)
    return shapes
