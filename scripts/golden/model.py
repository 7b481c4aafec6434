"""What all systems are built on: parameters and named values by path."""
import contextlib
import math

import numpy as np
import torch

from golden.equations import linear

BOS, EOS = 2, 3
SOURCE_LENGTHS, TARGET_LENGTHS = (5, 2, 7), (4, 6, 3)


def make_sentences(random, lengths, vocabulary):
    return [list(map(int, random.randint(4, vocabulary, n - 1))) + [EOS] for n in lengths]


class Model:
    """Parameters and named values by path, one sentence at a time. Named values are appended to `record`."""

    widening = 1.0  # of the range that parameters are drawn from

    def __init__(self, config, parameters):
        self.config = config
        self.parameters = parameters
        self.record = {}
        self.path = []

    @contextlib.contextmanager
    def scope(self, *names):
        self.path.extend(names)
        yield
        del self.path[-len(names):]

    def parameter(self, name):
        return self.parameters["/".join(self.path + [name])]

    def name(self, name, value):
        self.record.setdefault("/".join(self.path + [name]), []).append(value)
        return value

    @contextlib.contextmanager
    def steps(self, backward=False):
        """What is named within comes step by step; together it is the rows of a sentence, in order."""
        outer, self.record = self.record, {}
        yield
        inner, self.record = self.record, outer
        for path, rows in inner.items():
            self.record.setdefault(path, []).append(torch.stack(rows[::-1] if backward else rows))

    def linear(self, name, x):
        with self.scope(name):
            bias = "/".join(self.path + ["bias"])
            return linear(x, self.parameter("weight"), self.parameters.get(bias))

    def extra_loss(self):
        """What the last forward pass wants in the loss besides the cross-entropy."""
        return 0.0

    def draw_text(self, random):
        """What the model reads and, by answers(), is to say. As write_sentences of golden_file wants them."""
        return {"source": make_sentences(random, SOURCE_LENGTHS, self.config["source_vocab_size"]),
                "target": make_sentences(random, TARGET_LENGTHS, self.config["target_vocab_size"])}

    def answers(self, text):
        """The class that each row of forward() should tell."""
        return sum(text["target"], [])

    def forward(self, text):
        """Logits of all target positions [target rows, target vocabulary]."""
        self.record = {}
        return torch.cat([self.logits(self.decode(self.encode(s), t))
                          for s, t in zip(text["source"], text["target"])])


def make_parameters(shapes, random, widening=1.0):
    parameters = {}
    for name, shape in shapes.items():
        centre = 1.0 if name.endswith("gamma") else 0.0
        width = 0.8 if "embedding" in name else 0.3 if len(shape) == 1 else 1.5 / math.sqrt(shape[0])
        # Rounded to what a float model can hold.
        values = (centre + widening * width * random.uniform(-1, 1, shape)).astype(np.float32)
        parameters[name] = torch.tensor(values.astype(np.float64), requires_grad=True)
    return parameters
