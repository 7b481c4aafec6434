"""An encoder alone: Devlin, Chang, Lee, Toutanova 2019. It fills in masked words, or tells the class of a sentence by its
first state, the mean of its states, or attention over them (Yang et al. 2016, eq. 5-7)."""
import torch

from golden import transformer
from golden.equations import softmax
from golden.model import SOURCE_LENGTHS, make_sentences

MASK = 4
MASKED = ((1, 3), (0,), (0, 2, 5))  # positions of each sentence
SIZES = dict(d_model=12, d_ff=18, n_heads=3, n_encoder_layers=2, source_vocab_size=19)
VARIANTS = {
    "encoder_masked": dict(norm="pre", positions="learned", n_classes=0, **SIZES),
    "encoder_first": dict(norm="post", positions="learned", n_classes=5, pooling="first", **SIZES),
    "encoder_mean": dict(norm="pre", positions="sinusoidal", n_classes=4, pooling="mean", **SIZES),
    "encoder_attention": dict(norm="post", positions="learned", n_classes=3, pooling="attention", **SIZES),
    # RoBERTa (Liu et al. 2019), with sharper predictions.
    "encoder_roberta": dict(norm="post", positions="learned", position_offset=2, n_classes=0, activation="gelu",
                            embedding_norm=True, embedding_scale="1", norm_epsilon=1e-12, output_bias=True,
                            logit_scale=3.0, **SIZES),
    # A classifier as BERT is fine-tuned, and DistilBERT (Sanh et al. 2019).
    "encoder_pooler": dict(norm="post", positions="learned", n_classes=5, pooling="first", pooler=True, activation="gelu",
                           embedding_norm=True, embedding_scale="1", norm_epsilon=1e-12, **SIZES),
    "encoder_distil": dict(norm="post", positions="learned", n_classes=3, pooling="first", pooler=True,
                           pooler_activation="relu", activation="gelu", embedding_norm=True, embedding_scale="1",
                           norm_epsilon=1e-12, **SIZES),
}
MUTATIONS = {
    "encoder_roberta": [dict(position_offset=0), dict(activation="gelu_tanh"), dict(activation="gelu_sigmoid"),
                        dict(embedding_norm=False), dict(embedding_scale="sqrt_d"), dict(norm_epsilon=1e-2),
                        dict(output_bias=False), dict(logit_scale=1.0), dict(final_norm="no", norm="pre")],
    "encoder_pooler": [dict(pooler=False), dict(pooler_activation="relu"), dict(pooling="mean")],
    "encoder_distil": [dict(pooler=False), dict(pooler_activation="tanh"), dict(pooling="mean")],
}


class Encoder(transformer.Transformer):
    """Masked words when there are no classes, else classes."""

    def draw_text(self, random):
        sources = make_sentences(random, SOURCE_LENGTHS, self.config["source_vocab_size"])
        if self.config["n_classes"]:
            return {"source": sources,
                    "label": [[int(random.randint(self.config["n_classes"]))] for _ in sources]}
        hidden = [[s[i] for i in positions] for s, positions in zip(sources, MASKED)]
        for s, positions in zip(sources, MASKED):
            for i in positions:
                s[i] = MASK
        sources[0][MASKED[0][0]] = 9  # of the words to predict some become another word,
        sources[2][MASKED[2][0]] = hidden[2][0]  # and some stay
        return {"source": sources, "position": [list(p) for p in MASKED], "hidden": hidden}

    def answers(self, text):
        return sum(text["label"] if self.config["n_classes"] else text["hidden"], [])

    def pool(self, states):
        """[1, d]"""
        if self.config["pooling"] == "first":
            return states[:1]
        if self.config["pooling"] == "mean":
            return states.mean(0, keepdim=True)
        with self.scope("attention"):
            u = torch.tanh(self.linear("query", states))
            scores = self.name("scores", (u @ self.parameter("score/weight"))[None, None])
            weights = self.name("weights", softmax(scores))
        return weights[0] @ states

    def classify(self, states):
        with self.scope("classes"):
            pooled = self.pool(states)
        if self.option("pooler"):
            f = {"tanh": torch.tanh, "relu": torch.relu}[self.option("pooler_activation", "tanh")]
            with self.scope("encoder"):
                pooled = f(self.linear("pooler", pooled))
        with self.scope("classes"):
            self.name("pooled", pooled)
            return pooled @ self.parameter("weight") + self.parameter("bias")

    def forward(self, text):
        self.record = {}
        states = [self.encode(s) for s in text["source"]]
        if self.config["n_classes"]:
            return torch.cat([self.classify(x) for x in states])
        rows = torch.cat([x[positions] for x, positions in zip(states, text["position"])])
        return self.word_scores(rows, self.embedding_table("encoder").T, "masked_word/bias")


def shapes_of(config):
    d, classes = config["d_model"], config["n_classes"]
    shapes = transformer.stack_shapes(config, "encoder", config["source_vocab_size"], ["self_attention"])
    if config.get("output_bias"):
        shapes["masked_word/bias"] = (config["source_vocab_size"],)
    if classes:
        shapes |= {"classes/weight": (d, classes), "classes/bias": (classes,)}
    if config.get("pooler"):
        shapes |= {"encoder/pooler/weight": (d, d), "encoder/pooler/bias": (d,)}
    if config.get("pooling") == "attention":
        shapes |= {"classes/attention/query/weight": (d, d), "classes/attention/query/bias": (d,),
                   "classes/attention/score/weight": (d,)}
    return shapes
