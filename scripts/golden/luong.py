"""Luong, Pham, Manning 2015."""
import math

import torch

from golden.equations import softmax
from golden.model import BOS
from golden.recurrent import GATES, Recurrent, add_recurrent, embedding_shapes

LUONG = dict(cell="lstm", bidirectional=False, reverse_source=True, input_feeding=True, attention="global", window=2,
             d_align=7, max_source_positions=9, d_attentional=0, d_embedding=6, d_hidden=5, n_layers=1,
             source_vocab_size=19, target_vocab_size=17)
VARIANTS = {
    "luong_dot": dict(LUONG, score="dot", n_layers=2, d_attentional=4),
    "luong_general": dict(LUONG, score="general", input_feeding=False, reverse_source=False, n_layers=2),
    "luong_concat": dict(LUONG, score="concat", d_hidden=4, d_align=5),
    "luong_location": dict(LUONG, score="location", input_feeding=False),
    "luong_additive": dict(LUONG, score="additive", cell="gru", d_attentional=3),
    "luong_local_m": dict(LUONG, score="general", attention="local-m", window=1, d_hidden=4),
    "luong_local_p": dict(LUONG, score="general", attention="local-p", n_layers=2),
    "luong_local_p_concat": dict(LUONG, score="concat", attention="local-p", input_feeding=False, d_align=4),
    "luong_bidirectional": dict(LUONG, score="dot", bidirectional=True, reverse_source=False, n_layers=2,
                                d_attentional=6),
    "luong_normed": dict(LUONG, score="general", n_layers=2, layer_norm=True, peepholes=True, d_hidden=4),
}


class Luong(Recurrent):
    """Luong, Pham, Manning 2015, section 3; h_s are the encoder's states, s_t the decoder's (h_t there)."""

    CONTEXT = "feed"

    def run_both_ways(self, cell, x):
        with self.scope("forward"):
            forward, forward_last = self.run(cell, x)
        with self.scope("backward"):
            backward, backward_last = self.run(cell, x.flip(0), backward=True)
        both = [None if a is None else torch.cat([a, b]) for a, b in zip(forward_last, backward_last)]
        return torch.cat([forward, backward.flip(0)], -1), both

    def encode(self, source):
        h, cell, lasts = self.embed("encoder", source), self.config["cell"], []
        with self.scope("encoder"):
            for i in range(self.config["n_layers"]):
                with self.scope(f"layer_{i}"):
                    if self.config["bidirectional"]:
                        h, last = self.run_both_ways(cell, h)
                    else:
                        with self.scope("state"):
                            h, last = self.run_source(cell, h)
                    self.name("output", h)
                    self.name_final(last)
                lasts.append(last)
            return self.name("output", h), lasts

    def keys(self, h):
        """What a state is compared with: [source length, ...]."""
        score, k = self.config["score"], h.shape[1]
        if score == "general":
            return h @ self.parameter("score/weight").T  # s^T W h
        if score == "concat":
            return h @ self.parameter("concat/weight")[k:]  # the lower half of W_a [s; h]
        return h @ self.parameter("key/weight") if score == "additive" else h

    def scores(self, s, h, keys):
        """e_t, one for each source position (section 3.1), and the query that made it."""
        score = self.config["score"]
        if score == "location":
            return (s @ self.parameter("score/weight"))[:len(h)], s
        if score in ("dot", "general"):
            return (keys * s).sum(-1), s
        query = s @ (self.parameter("query/weight") if score == "additive"
                     else self.parameter("concat/weight")[:len(s)])
        return torch.tanh(query + keys) @ self.parameter("score/weight"), query

    def align(self, t, s, h, keys):
        """Sections 3.1 and 3.2: query, scores as seen by the softmax, its result, a_t, p_t, c_t."""
        e, query = self.scores(s, h, keys)
        length, window, kind = len(h), self.config["window"], self.config["attention"]
        position = torch.tensor(float(t), dtype=torch.float64)
        if kind == "local-p":  # eq. 9
            inner = torch.tanh(s @ self.parameter("position/query/weight"))
            position = length * torch.sigmoid(inner @ self.parameter("position/score/weight"))
        where = torch.arange(length, dtype=torch.float64)
        inside = (where - position.detach()).abs() <= (length if kind == "global" else window)
        if kind == "global":
            inside = torch.ones(length, dtype=torch.bool)
        a = torch.zeros(length, dtype=torch.float64)
        if inside.any():
            a = torch.zeros(length, dtype=torch.float64).masked_scatter(inside, softmax(e[inside]))  # eq. 7
        probabilities = a
        if kind == "local-p":  # eq. 10
            a = a * torch.exp(-(where - position) ** 2 / (2 * (window / 2) ** 2))
        return query, e.masked_fill(~inside, -math.inf), probabilities, a, position.reshape(1), a @ h

    def decode(self, encoded, target):
        h, states = encoded
        words = self.embed("decoder", [BOS] + target[:-1])
        n_layers, width = self.config["n_layers"], self.config["d_attentional"] or h.shape[1]
        attentional, steps, outputs = torch.zeros(width, dtype=torch.float64), [], [[] for _ in states]
        top = f"layer_{n_layers - 1}"
        with self.scope("decoder"):
            with self.scope(top, "cross_attention"):
                keys = self.keys(h)
            with self.steps():
                for t, x in enumerate(words):
                    for i in range(n_layers):
                        fed = attentional if i == 0 and self.config["input_feeding"] else None
                        with self.scope(f"layer_{i}", "state"):
                            state = self.cell(self.config["cell"], x, states[i], context=fed)
                        states = states[:i] + [state] + states[i + 1:]
                        x = states[i][0]
                        outputs[i].append(x)
                    with self.scope(top, "cross_attention"):
                        query, e, probabilities, a, position, c = self.align(t, x, h, keys)
                    with self.scope("attentional"):  # eq. 5: W_c [c_t; s_t]
                        w_c = torch.cat([self.parameter("context/weight"), self.parameter("state/weight")])
                        attentional = self.name("output", torch.tanh(torch.cat([c, x]) @ w_c))
                    steps.append((query, e, probabilities, a, position, c, attentional))
            query, e, probabilities, a, position, c, attentional = (torch.stack(values) for values in zip(*steps))
            for i, output in enumerate(outputs):
                with self.scope(f"layer_{i}"):
                    self.name("output", torch.stack(output))
            with self.scope(top, "cross_attention"):
                self.name("query", query)
                self.name("key", keys)
                self.name("value", h)
                self.name("scores", e[None])
                self.name("weights", a[None])
                self.name("context", c)
                if self.config["attention"] == "local-p":
                    self.name("position", position)
                    self.name("probabilities", probabilities[None])
            return self.name("output", attentional)


def shapes_of(config):
    shapes = embedding_shapes(config)
    n, a, cell = config["d_hidden"], config["d_align"], config["cell"]
    k = 2 * n if config["bidirectional"] else n
    d = config["d_attentional"] or k
    for i in range(config["n_layers"]):
        d_in = k if i else config["d_embedding"]
        for part in ("forward", "backward") if config["bidirectional"] else ("state",):
            add_recurrent(shapes, f"encoder/layer_{i}/{part}", cell, d_in, n, options=config)
        add_recurrent(shapes, f"decoder/layer_{i}/state", cell, d_in, k, options=config)
    for gate in GATES[cell] if config["input_feeding"] else ():
        shapes[f"decoder/layer_0/state/feed/{gate}/weight"] = (d, k)
    align = f"decoder/layer_{config['n_layers'] - 1}/cross_attention"
    of_score = {"dot": {}, "general": {"score/weight": (k, k)},
                "concat": {"concat/weight": (2 * k, a), "score/weight": (a,)},
                "location": {"score/weight": (k, config["max_source_positions"])},
                "additive": {"query/weight": (k, a), "key/weight": (k, a), "score/weight": (a,)}}
    shapes.update({f"{align}/{name}": shape for name, shape in of_score[config["score"]].items()})
    if config["attention"] == "local-p":
        shapes[align + "/position/query/weight"], shapes[align + "/position/score/weight"] = (k, a), (a,)
    shapes["decoder/attentional/context/weight"] = shapes["decoder/attentional/state/weight"] = (k, d)
    shapes["decoder/output/weight"] = (d, config["target_vocab_size"])
    return shapes
