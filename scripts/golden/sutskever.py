"""Sutskever, Vinyals, Le 2014."""
from golden.model import BOS
from golden.recurrent import Recurrent, add_recurrent, embedding_shapes

VARIANTS = {
    "sutskever_shallow": dict(
        cell="lstm", n_layers=1, reverse_source=False, d_embedding=6, d_hidden=5, source_vocab_size=16,
        target_vocab_size=15),
    "sutskever_deep": dict(
        cell="lstm", n_layers=3, reverse_source=True, d_embedding=4, d_hidden=5, source_vocab_size=13,
        target_vocab_size=18),
}


class Sutskever(Recurrent):
    """Sutskever, Vinyals, Le 2014, section 2."""

    def encode(self, source):
        x, last = self.embed("encoder", source), []
        with self.scope("encoder"):
            for layer in range(self.config["n_layers"]):
                with self.scope(f"layer_{layer}", "state"):
                    x, state = self.run_source(self.config["cell"], x)
                with self.scope(f"layer_{layer}"):
                    self.name("output", x)
                    self.name_final(state)
                last.append(state)
            self.name("output", x)
        return last

    def decode(self, first, target):
        x = self.embed("decoder", [BOS] + target[:-1])
        with self.scope("decoder"):
            for layer, state in enumerate(first):
                with self.scope(f"layer_{layer}", "state"):
                    x, _ = self.run(self.config["cell"], x, state)
                with self.scope(f"layer_{layer}"):
                    self.name("output", x)
            return self.name("output", x)


def shapes_of(config):
    shapes, n = embedding_shapes(config), config["d_hidden"]
    for side in ("encoder", "decoder"):
        for layer in range(config["n_layers"]):
            add_recurrent(shapes, f"{side}/layer_{layer}/state", config["cell"],
                          n if layer else config["d_embedding"], n)
    shapes["decoder/output/weight"] = (n, config["target_vocab_size"])
    return shapes
