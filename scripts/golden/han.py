"""Hierarchical attention networks: Yang, Yang, Dyer, He, Smola, Hovy 2016."""
import math

import torch

from golden.equations import softmax
from golden.model import EOS
from golden.recurrent import Recurrent, add_recurrent

ENDS = (5, 7)  # of sentences
SENTENCE_LENGTHS = ((4, 2), (3,), (2, 5, 3))  # the first and the last end in a stop and in several, the last document in none
VARIANTS = {
    "han_gru": dict(cell="gru", n_classes=4, d_embedding=6, d_hidden=5, source_vocab_size=19),
    "han_lstm": dict(cell="lstm", n_classes=3, d_embedding=7, d_hidden=3, source_vocab_size=21),
}
# What a wrong reading of the paper would compute.
MUTATIONS = {name: [dict(wrong=what) for what in ("words across sentences", "mean of words", "mean of sentences",
                                                  "attention over the document")] for name in VARIANTS}


class Han(Recurrent):
    """A text is documents, each a list of sentences, each a list of words; equations 1-11 of the paper."""

    fixed = Recurrent.fixed | dict(sentence_ends=" ".join(f"s{word}" for word in ENDS))  # so the tests call words
    widening = 2.5  # else states are small after two layers, and attention even

    def draw_text(self, random):
        documents = []
        for lengths in SENTENCE_LENGTHS:
            sentences = [[int(w) for w in random.randint(8, self.config["source_vocab_size"], n)] for n in lengths]
            for i, sentence in enumerate(sentences):
                sentence.append(ENDS[i % 2])
            documents.append(sentences)
        documents[0][0].append(ENDS[1])  # "?!"
        documents[2][-1].pop()
        for sentences in documents:
            sentences[-1].append(EOS)
        return {"source": [sum(sentences, []) for sentences in documents], "end": [list(ENDS)],
                "label": [[int(random.randint(self.config["n_classes"]))] for _ in documents]}

    def answers(self, text):
        return sum(text["label"], [])

    def both_directions(self, x):
        states = []
        for direction in "forward", "backward":
            with self.scope(direction):
                turned = x.flip(0) if direction == "backward" else x
                h = self.run(self.config["cell"], turned, backward=direction == "backward")[0]
                states.append(h.flip(0) if direction == "backward" else h)
        return torch.cat(states, -1)

    def name_start(self, kind, state):
        """The words' layer starts anew in each sentence of a document, which is named as a whole."""
        if "sentence_encoder" in self.path:
            super().name_start(kind, state)

    def read_words(self, x, lengths):
        """Equations 1-4, sentence by sentence."""
        if self.config.get("wrong") != "words across sentences":
            return torch.cat([self.both_directions(part) for part in x.split(lengths)])
        kept, self.record = self.record, {}
        h = self.both_directions(x)
        self.record = kept
        return h

    def scores(self, h):
        """u_i . u_c, u_i = tanh(W h_i + b)."""
        return torch.tanh(self.linear("query", h)) @ self.parameter("score/weight")

    def attend_to_words(self, h, lengths):
        """Equations 5-7: a vector of each sentence [sentences, 2 d_hidden]."""
        own = torch.zeros(len(lengths), len(h), dtype=torch.bool)
        for i, n in enumerate(lengths):
            own[i, sum(lengths[:i]):sum(lengths[:i]) + n] = True
        with self.scope("word_attention"):
            e = self.scores(h).expand(len(lengths), -1)
            weights = softmax(self.name("scores", e.masked_fill(~own, -math.inf)[None]))
            if self.config.get("wrong") == "attention over the document":
                weights = softmax(e[None])
            if self.config.get("wrong") == "mean of words":
                weights = (own / own.sum(-1, keepdim=True))[None].double()
            return self.name("context", self.name("weights", weights)[0] @ h)

    def attend_to_sentences(self, h):
        """Equations 8-10 [1, 2 d_hidden]."""
        with self.scope("sentence_attention"):
            weights = softmax(self.name("scores", self.scores(h)[None, None]))
            if self.config.get("wrong") == "mean of sentences":
                weights = torch.full_like(weights, 1 / len(h))
            return self.name("weights", weights)[0] @ h

    def classify(self, ids, lengths):
        x = self.embed("encoder", ids)
        with self.scope("encoder"):
            with self.scope("layer_0"):
                h = self.name("output", self.read_words(x, lengths))
            self.name("output", h)
        s = self.attend_to_words(h, lengths)
        with self.scope("sentence_encoder"):
            h = self.name("output", self.both_directions(s))
        v = self.attend_to_sentences(h)
        with self.scope("classes"):
            self.name("pooled", v)
            return v @ self.parameter("weight") + self.parameter("bias")

    def forward(self, text):
        self.record = {}
        return torch.cat([self.classify(ids, lengths) for ids, lengths in zip(text["source"], sentence_lengths(text))])


def sentence_lengths(text):
    """The words of each sentence of each document, which ENDS end."""
    found = []
    for ids in text["source"]:
        starts = [0] + [i for i in range(1, len(ids)) if ids[i - 1] in ENDS and ids[i] not in (*ENDS, EOS)] + [len(ids)]
        found.append([b - a for a, b in zip(starts, starts[1:])])
    return found


def shapes_of(config):
    n, d, cell = config["d_hidden"], 2 * config["d_hidden"], config["cell"]
    shapes = {"encoder/embedding/weight": (config["source_vocab_size"], config["d_embedding"]),
              "classes/weight": (d, config["n_classes"]), "classes/bias": (config["n_classes"],)}
    for layer, width in ("encoder/layer_0", config["d_embedding"]), ("sentence_encoder", d):
        for direction in "forward", "backward":
            add_recurrent(shapes, f"{layer}/{direction}", cell, width, n)
    for level in "word_attention", "sentence_attention":
        shapes |= {level + "/query/weight": (d, d), level + "/query/bias": (d,), level + "/score/weight": (d,)}
    return shapes
