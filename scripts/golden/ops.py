"""Single operations with their gradients, and Adadelta."""
import math

import numpy as np
import torch

from golden.equations import attention, layer_norm, linear, sinusoids, smoothed_cross_entropy
from golden.golden_file import GoldenFile, numbers, packed

class OpCase:
    """One call of one op: inputs made here, upstream gradients drawn at random, all written."""

    def __init__(self, file, path, random):
        self.file, self.path, self.random = file, path, random
        self.inputs = {}

    def constant(self, name, values):
        self.file[f"{self.path}/{name}"] = np.asarray(values)
        return values

    def input(self, name, *shape, centre=0.0, width=1.0):
        values = centre + width * self.random.uniform(-1, 1, shape)
        self.inputs[name] = torch.tensor(values, requires_grad=True)
        self.file[f"{self.path}/{name}"] = values
        return self.inputs[name]

    def finish(self, output, value, **others):
        """Writes the outputs and the gradients from a random gradient of `output`."""
        upstream = torch.tensor(self.random.uniform(-1, 1, value.shape))
        value.backward(upstream)
        self.file[f"{self.path}/{output}"] = numbers(value)
        self.file[f"{self.path}/d_{output}"] = numbers(upstream)
        for name, other in others.items():
            self.file[f"{self.path}/{name}"] = numbers(other)
        for name, tensor in self.inputs.items():
            self.file[f"{self.path}/d_{name}"] = numbers(tensor.grad)


ACTIVATIONS = {"none": lambda x: x, "relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


def write_linear(file, random):
    for name, activation in ACTIVATIONS.items():
        case = OpCase(file, "linear/" + name, random)
        x, weight, bias = case.input("x", 7, 5), case.input("weight", 5, 11), case.input("bias", 11)
        case.finish("y", activation(linear(x, weight, bias)))
    case = OpCase(file, "linear/no_bias", random)
    case.finish("y", linear(case.input("x", 3, 4), case.input("weight", 4, 6)))


def write_elementwise(file, random):
    case = OpCase(file, "add", random)
    case.finish("y", case.input("a", 3, 7) + case.input("b", 3, 7))
    for name in ("relu", "tanh", "sigmoid"):
        case = OpCase(file, "activate/" + name, random)
        case.finish("y", ACTIVATIONS[name](case.input("x", 5, 9, width=3)))


def write_layer_norm(file, random):
    case = OpCase(file, "layer_norm/plain", random)
    x = case.input("x", 6, 13, centre=0.5)
    gamma, beta = case.input("gamma", 13, centre=1), case.input("beta", 13)
    case.finish("y", layer_norm(x, gamma, beta))

    case = OpCase(file, "layer_norm/sum", random)
    x, sublayer = case.input("x", 4, 19), case.input("sublayer", 4, 19)
    gamma, beta = case.input("gamma", 19, centre=1), case.input("beta", 19)
    s = x + sublayer
    case.finish("y", layer_norm(s, gamma, beta), s=s)


def write_embedding(file, random):
    lengths = (3, 1, 4)
    position = np.concatenate([np.arange(n) for n in lengths])
    ids = np.array([5, 0, 5, 8, 1, 5, 2, 1])  # repeated ids: their gradients add up
    for name in ("learned", "no_positions"):
        case = OpCase(file, "embedding/" + name, random)
        case.constant("ids", ids.astype(np.int32))
        case.constant("length", np.array(lengths, np.int32))
        scale = case.constant("scale", [math.sqrt(6)])[0]
        table = case.input("table", 9, 6)
        y = table[ids] * scale
        if name == "learned":
            y = y + case.input("positions", 5, 6)[position]
        case.finish("y", y)
    for length, d in ((17, 10), (12, 7)):
        file[f"embedding/sinusoids_{d}/table"] = numbers(sinusoids(length, d))


def write_attention(file, random):
    n_heads, head_dim = 3, 4
    cases = {"full": ((5, 2, 6), (3, 7, 4), False), "causal": ((5, 1, 7), (5, 1, 7), True)}
    for name, (query_lengths, key_lengths, causal) in cases.items():
        case = OpCase(file, "attention/" + name, random)
        case.constant("n_heads", np.array([n_heads], np.int32))
        case.constant("query_length", np.array(query_lengths, np.int32))
        case.constant("key_length", np.array(key_lengths, np.int32))
        d = n_heads * head_dim
        query = case.input("query", sum(query_lengths), d, width=2)
        key = case.input("key", sum(key_lengths), d, width=2)
        value = case.input("value", sum(key_lengths), d)
        sentences = zip(query.split(query_lengths), key.split(key_lengths), value.split(key_lengths))
        scores, weights, contexts = zip(*(attention(q, k, v, n_heads, causal) for q, k, v in sentences))
        case.finish("context", torch.cat(contexts), scores=packed(scores), weights=packed(weights))


def write_cross_entropy(file, random):
    # Many rows: heed computes the logits a block of rows at a time.
    for name, smoothing, rows, d, classes in (("plain", 0.0, 5, 8, 17), ("smoothed", 0.2, 7, 6, 11),
                                              ("tied", 0.1, 4, 5, 9), ("many_rows", 0.1, 523, 2, 3)):
        case = OpCase(file, "cross_entropy/" + name, random)
        case.constant("smoothing", np.array([smoothing]))
        targets = case.constant("targets", random.randint(0, classes, rows).astype(np.int32))
        tied = name == "tied"  # the weight is an embedding table
        states = case.input("states", rows, d)
        weight = case.input("weight", classes, d) if tied else case.input("weight", d, classes)
        logits = states @ (weight.T if tied else weight)
        smoothed, nll = smoothed_cross_entropy(logits, torch.tensor(targets, dtype=torch.long), smoothing)
        case.finish("loss", smoothed.reshape(1), nll=nll.reshape(1), logits=logits)


def write_adadelta(file, random):
    """Five steps of Adadelta (Zeiler 2012) from given gradients; moves and squares are its memory."""
    parameter = torch.tensor(random.uniform(-1, 1, 23), requires_grad=True)
    gradients = random.uniform(-1, 1, (5, 23)) * 10.0 ** random.randint(-4, 2, 23)
    file["adadelta/before"] = numbers(parameter).copy()
    file["adadelta/gradients"] = gradients
    optimizer = torch.optim.Adadelta([parameter], lr=0.7, rho=0.95, eps=1e-6)
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    memory = optimizer.state[parameter]
    file["adadelta/after"] = numbers(parameter)
    file["adadelta/moves"] = numbers(memory["acc_delta"])
    file["adadelta/squares"] = numbers(memory["square_avg"])


def write_ops(path):
    random = np.random.RandomState(7)
    with GoldenFile(path, "ops") as file:
        for write in (write_linear, write_elementwise, write_layer_norm, write_embedding, write_attention,
                      write_cross_entropy, write_adadelta):
            write(file, random)
