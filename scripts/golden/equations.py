"""The equations that several systems share, in float64."""
import math

import numpy as np
import torch

EPSILON = 1e-5  # of layer normalisation, inside the root


def linear(x, weight, bias=None):
    return x @ weight if bias is None else x @ weight + bias


def layer_norm(x, gamma, beta):
    """Ba, Kiros, Hinton 2016, eq. 4, over the features of one position; biased variance."""
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(variance + EPSILON) + beta


def softmax(scores):
    powers = torch.exp(scores - scores.max(-1, keepdim=True).values.detach())
    return powers / powers.sum(-1, keepdim=True)


def sinusoids(length, d):
    """Vaswani et al. 2017, section 3.5: even features sin, odd features cos of the same angle."""
    table = np.zeros((length, d))
    for position in range(length):
        for feature in range(d):
            angle = position / 10000 ** (feature // 2 * 2 / d)
            table[position, feature] = math.sin(angle) if feature % 2 == 0 else math.cos(angle)
    return torch.tensor(table)


def heads_of(x, n_heads):
    """[n, d] -> [n_heads, n, d / n_heads]: head h owns the h-th run of adjacent features."""
    n, d = x.shape
    return x.reshape(n, n_heads, d // n_heads).permute(1, 0, 2)


def attention(query, key, value, n_heads, causal):
    """Vaswani et al. 2017, eq. 1, per head. Returns scores (scaled, before the mask), weights, context."""
    q, k, v = (heads_of(x, n_heads) for x in (query, key, value))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # [n_heads, n_queries, n_keys]
    masked = scores
    if causal:
        n, m = scores.shape[-2:]
        later = torch.arange(m)[None, :] > torch.arange(n)[:, None] + (m - n)
        masked = scores.masked_fill(later, -math.inf)
    weights = softmax(masked)
    context = (weights @ v).permute(1, 0, 2).reshape(query.shape[0], value.shape[1])
    return scores, weights, context


def smoothed_cross_entropy(logits, targets, smoothing):
    """Szegedy et al. 2016, section 7, uniform prior. Returns the sums of smoothed and plain losses."""
    log_p = logits - torch.logsumexp(logits, -1, keepdim=True)
    nll = -log_p[torch.arange(len(targets)), targets]
    return ((1 - smoothing) * nll - smoothing * log_p.mean(-1)).sum(), nll.sum()
