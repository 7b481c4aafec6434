"""The PyTorch twin of models/transformer.h: post-norm, tied = all, sinusoidal positions."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_parts import PAD, Dropout, ProjectedCrossEntropy, rows_of_words

class Attention(nn.Module):
    def __init__(self, config, cross):
        super().__init__()
        d = config["d_model"]
        self.n_heads, self.cross = config["n_heads"], cross
        if cross:
            self.query, self.key_value = nn.Linear(d, d), nn.Linear(d, 2 * d)
        else:
            self.query_key_value = nn.Linear(d, 3 * d)
        self.output = nn.Linear(d, d)
        self.dropout = Dropout(config["attention_dropout"])

    def forward(self, x, memory, bias):
        batch, n, d = x.shape
        h, width = self.n_heads, d // self.n_heads
        if self.cross:
            q = self.query(x).view(batch, n, h, width).transpose(1, 2)
            k, v = self.key_value(memory).view(batch, -1, 2, h, width).permute(2, 0, 3, 1, 4)
        else:
            q, k, v = self.query_key_value(x).view(batch, n, 3, h, width).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q * width ** -0.5, k.transpose(-1, -2))  # [batch, h, n, m]
        weights = torch.softmax(scores if bias is None else scores + bias, -1)
        context = torch.matmul(self.dropout(weights), v)  # [batch, h, n, width]
        return self.output(context.transpose(1, 2).reshape(batch, n, d))


class Layer(nn.Module):
    def __init__(self, config, decoder):
        super().__init__()
        d, d_ff = config["d_model"], config["d_ff"]
        self.self_attention, self.self_norm = Attention(config, False), nn.LayerNorm(d)
        if decoder:
            self.cross_attention, self.cross_norm = Attention(config, True), nn.LayerNorm(d)
        self.inner, self.outer, self.norm = nn.Linear(d, d_ff), nn.Linear(d_ff, d), nn.LayerNorm(d)
        self.dropout, self.inner_dropout = Dropout(config["dropout"]), Dropout(config["activation_dropout"])

    def forward(self, x, bias, memory=None, memory_bias=None):
        x = self.self_norm(x + self.dropout(self.self_attention(x, None, bias)))
        if memory is not None:
            x = self.cross_norm(x + self.dropout(self.cross_attention(x, memory, memory_bias)))
        return self.norm(x + self.dropout(self.outer(self.inner_dropout(F.relu(self.inner(x))))))


class Transformer(nn.Module):
    WANTED = dict(norm="post", tied="all", positions="sinusoidal")

    def __init__(self, config):
        super().__init__()
        d = self.d = config["d_model"]
        self.embedding = nn.Embedding(config["source_vocab_size"], d)
        nn.init.normal_(self.embedding.weight, std=d ** -0.5)
        angle = torch.arange(512)[:, None] * torch.exp(torch.arange(0, d, 2) * (-math.log(1e4) / d))
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], -1).view(512, d))
        rate = config["embedding_dropout"]
        self.dropout = Dropout(config["dropout"] if rate < 0 else rate)
        self.encoder = nn.ModuleList(Layer(config, False) for _ in range(config["n_encoder_layers"]))
        self.decoder = nn.ModuleList(Layer(config, True) for _ in range(config["n_decoder_layers"]))

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * self.d ** 0.5 + self.positions[:ids.shape[1]])

    def forward(self, source, target_in, target):
        """The mean loss. source [batch, n], target_in and target [batch, m], padded with PAD."""
        padded = source == PAD
        bias = padded[:, None, None, :].float() * -1e9 if bool(padded.any()) else None
        causal = torch.full((target.shape[1],) * 2, -1e9).triu_(1)
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, bias)
        x = self.embed(target_in)
        for layer in self.decoder:
            x = layer(x, causal, memory, bias)
        states, words = rows_of_words(x, target)
        return ProjectedCrossEntropy.apply(states, self.embedding.weight, words)
