"""The PyTorch twins of models/bahdanau.h and models/sutskever.h: cells with the reset gate after the product, as
torch.nn.GRU has them.

What makes them fast: torch.nn's own loops wherever no attention stands between two steps; in the decoder that attends,
the products of all words and of all keys before the loop, and both products of a step onto what is there (addmm).
"""
import torch
from torch import nn

from torch_parts import PAD, Dropout, ProjectedCrossEntropy, rows_of_words


class Embedding(nn.Module):
    def __init__(self, words, config):
        super().__init__()
        self.table = nn.Embedding(words, config["d_embedding"])
        nn.init.normal_(self.table.weight, std=0.1)
        self.dropout = Dropout(config["dropout"])

    def forward(self, ids):
        return self.dropout(self.table(ids))


class Bahdanau(nn.Module):
    WANTED = dict(cell="gru-reset-after", readout_state="current", align_bias=False)

    def __init__(self, config):
        super().__init__()
        m, n, a, l = (config[key] for key in ("d_embedding", "d_hidden", "d_align", "d_maxout"))
        s = self.width = config["d_decoder"] or n
        self.source = Embedding(config["source_vocab_size"], config)
        self.target = Embedding(config["target_vocab_size"], config)
        self.encoder = nn.GRU(m, n, bidirectional=True, batch_first=True)
        self.initial = nn.Linear(n, s)
        self.key, self.query = nn.Linear(2 * n, a, bias=False), nn.Linear(s, a, bias=False)
        self.score = nn.Parameter(torch.randn(a) * 0.1)
        self.word, self.context = nn.Linear(m, 3 * s), nn.Linear(2 * n, 3 * s, bias=False)
        self.recurrent = nn.Linear(s, 3 * s)
        self.readout = nn.Linear(s + m + 2 * n, 2 * l)
        self.output = nn.Linear(l, config["target_vocab_size"], bias=False)
        self.dropout = Dropout(config["dropout"])

    def forward(self, source, target_in, target):
        padded = source == PAD
        h, _ = self.encoder(self.source(source))
        h = self.dropout(h)  # [batch, n, 2 n]
        s = torch.tanh(self.initial(h[:, 0, h.shape[-1] // 2:]))
        keys, bias = self.key(h), padded.float() * -1e9 if bool(padded.any()) else None
        x = self.target(target_in)
        c_gates, u_gates, u_bias = self.context.weight.t(), self.recurrent.weight.t(), self.recurrent.bias
        states, contexts = [], []
        for word in self.word(x).unbind(1):
            e = torch.tanh(keys + self.query(s)[:, None]) @ self.score
            alpha = torch.softmax(e if bias is None else e + bias, -1)
            c = torch.bmm(alpha[:, None], h)[:, 0]
            from_words, from_state = torch.addmm(word, c, c_gates), torch.addmm(u_bias, s, u_gates)
            width = 2 * self.width
            z, r = torch.sigmoid(from_words[:, :width] + from_state[:, :width]).chunk(2, 1)
            candidate = torch.tanh(torch.addcmul(from_words[:, width:], r, from_state[:, width:]))
            s = torch.lerp(s, candidate, z)
            states.append(s)
            contexts.append(c)
        t = self.readout(torch.cat([torch.stack(states, 1), x, torch.stack(contexts, 1)], -1))
        t, words = rows_of_words(t, target)
        t = self.dropout(t.view(len(t), -1, 2).amax(-1))
        return ProjectedCrossEntropy.apply(t, self.output.weight, words)


class Sutskever(nn.Module):
    WANTED = dict(cell="lstm", reverse_source=True)

    def __init__(self, config):
        super().__init__()
        n, layers, p = config["d_hidden"], config["n_layers"], config["dropout"]
        self.source = Embedding(config["source_vocab_size"], config)
        self.target = Embedding(config["target_vocab_size"], config)
        self.encoder, self.decoder = (
            nn.LSTM(config["d_embedding"], n, layers, batch_first=True, dropout=p) for _ in range(2))
        self.output = nn.Linear(n, config["target_vocab_size"], bias=False)
        self.dropout = Dropout(p)

    def forward(self, source, target_in, target):
        _, last = self.encoder(self.source(source.flip(1)))  # padding first: the last states are the words'
        h, _ = self.decoder(self.target(target_in), last)
        states, words = rows_of_words(self.dropout(h), target)
        return ProjectedCrossEntropy.apply(states, self.output.weight, words)
