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
    # Llama 3.1: Dubey et al. 2024; the text is longer than its original length, so that all bands of waves matter.
    "decoder_llama": dict(
        norm="pre", tied="none", positions="rotary", d_model=16, d_ff=20, n_heads=4, n_kv_heads=2, n_decoder_layers=2,
        target_vocab_size=21, norm_kind="rms", norm_epsilon=1e-6, activation="silu", gated=True, attention_bias="none",
        feed_forward_bias=False, embedding_scale="1", rope_base=20.0, rope_scaling="llama3", rope_factor=4.0,
        rope_low_freq_factor=1.0, rope_high_freq_factor=3.0, rope_original_length=20),
    # Qwen3 with the biases of Qwen2, and the window of Mistral.
    "decoder_qwen": dict(
        norm="pre", tied="decoder", positions="rotary", d_model=10, d_ff=14, n_heads=3, n_kv_heads=1, d_head=6,
        n_decoder_layers=2, target_vocab_size=19, norm_kind="rms", norm_epsilon=1e-5, activation="silu", gated=True,
        attention_bias="qkv", feed_forward_bias=False, embedding_scale="1", qk_norm=True, rope_base=50.0,
        rope_scaling="linear", rope_factor=2.0, sliding_window=3),
    # BLOOM: Le Scao et al. 2022.
    "decoder_alibi": dict(
        norm="pre", tied="decoder", positions="alibi", d_model=12, d_ff=16, n_heads=3, n_decoder_layers=2,
        target_vocab_size=19, activation="gelu_tanh", embedding_norm=True, embedding_scale="1"),
}
MUTATIONS = {
    "decoder_llama": [dict(norm_epsilon=1e-2), dict(rope_scaling="none"), dict(rope_scaling="linear"),
                      dict(rope_base=10000.0), dict(rope_high_freq_factor=6.0), dict(activation="gelu"),
                      dict(wrong="interleaved pairs"), dict(wrong="heads of keys in turn"),
                      dict(wrong="gate and inner exchanged")],
    "decoder_qwen": [dict(norm_epsilon=1e-1), dict(qk_norm=False), dict(rope_scaling="none"), dict(sliding_window=0),
                     dict(sliding_window=2), dict(wrong="interleaved pairs")],
    "decoder_alibi": [dict(positions="none"), dict(activation="gelu_sigmoid"), dict(embedding_norm=False),
                      dict(embedding_scale="sqrt_d", embedding_norm=False)],
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
    if config.get("output_bias"):
        shapes["decoder/output/bias"] = (config["target_vocab_size"],)
    return shapes
