"""The equations that several systems share, in float64."""
import math

import numpy as np
import torch

EPSILON = 1e-5  # of layer normalisation, inside the root


def linear(x, weight, bias=None):
    return x @ weight if bias is None else x @ weight + bias


def layer_norm(x, gamma, beta, epsilon=EPSILON):
    """Ba, Kiros, Hinton 2016, eq. 4, over the features of one position; biased variance."""
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(variance + epsilon) + beta


def rms_norm(x, gamma, epsilon):
    """Zhang, Sennrich 2019, eq. 4."""
    return gamma * x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)


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


def sinusoids_in_halves(length, d, last_frequency):
    """All sines, then all cosines; the frequencies fall from 1 to last_frequency by equal factors."""
    half = d // 2
    frequencies = [last_frequency ** (k / (half - 1)) for k in range(half)]
    return torch.tensor([[math.sin(p * f) for f in frequencies] + [math.cos(p * f) for f in frequencies]
                         for p in range(length)], dtype=torch.float64)


def rotary_frequencies(d_head, base, scaling="none", factor=1.0, low=1.0, high=4.0, original_length=8192):
    """Su et al. 2021, section 3.2.2; with Llama 3.1's bands of wave lengths."""
    frequencies = []
    for i in range(0, d_head, 2):
        f = 1 / base ** (i / d_head)
        wave = 2 * math.pi / f
        if scaling == "linear":
            f = f / factor
        elif scaling == "llama3" and wave > original_length / low:
            f = f / factor
        elif scaling == "llama3" and wave >= original_length / high:
            smooth = (original_length / wave - low) / (high - low)
            f = (1 - smooth) * f / factor + smooth * f
        frequencies.append(f)
    return frequencies


def rotate(x, frequencies, interleaved=False):
    """x [heads, n, d_head] as complex numbers, feature i being the real and i + d_head/2 the imaginary part, times
    exp(i angle)."""
    n, d = x.shape[-2:]
    angles = torch.outer(torch.arange(n, dtype=torch.float64), torch.tensor(frequencies, dtype=torch.float64))
    turn = torch.polar(torch.ones_like(angles), angles)
    if interleaved:
        return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2)) * turn).flatten(-2)
    turned = torch.complex(x[..., :d // 2], x[..., d // 2:]) * turn
    return torch.cat([turned.real, turned.imag], -1)


def bucket_of(distance, causal, buckets, farthest):
    """Raffel et al. 2020, section 2.1, as in their code: of a key `distance` after its query."""
    if not causal:
        half = buckets // 2
        return (half if distance > 0 else 0) + bucket_of(-abs(distance), True, half, farthest)
    away, exact = max(-distance, 0), buckets // 2
    if away < exact:
        return away
    return min(buckets - 1, exact + int(math.log(away / exact) / math.log(farthest / exact) * (buckets - exact)))


def slopes_of(n_heads):
    """Press, Smith, Lewis 2022, section 3 and appendix."""
    if math.log2(n_heads).is_integer():
        return [2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    lower = 2 ** math.floor(math.log2(n_heads))
    return slopes_of(lower) + slopes_of(2 * lower)[0::2][:n_heads - lower]


def activation(name, x):
    if name == "relu":
        return torch.relu(x)
    if name == "gelu":
        return x * (1 + torch.erf(x / math.sqrt(2))) / 2
    if name == "gelu_tanh":
        return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return x * torch.sigmoid(1.702 * x if name == "gelu_sigmoid" else x)


def heads_of(x, n_heads):
    """[n, d] -> [n_heads, n, d / n_heads]: head h owns the h-th run of adjacent features."""
    n, d = x.shape
    return x.reshape(n, n_heads, d // n_heads).permute(1, 0, 2)


def attention(query, key, value, n_heads, causal, scale=None, bias=None, window=0, kv_of=None):
    """Vaswani et al. 2017, eq. 1, per head. Returns scores (scaled, before the mask), weights, context. kv_of: of each
    head the head of keys and values that it reads, if they are not its own."""
    q = heads_of(query, n_heads)
    k, v = (heads_of(x, max(kv_of) + 1)[kv_of] if kv_of else heads_of(x, n_heads) for x in (key, value))
    scores = q @ k.transpose(-1, -2)  # [n_heads, n_queries, n_keys]
    scores = scores / math.sqrt(q.shape[-1]) if scale is None else scores * scale
    if bias is not None:
        scores = scores + bias
    masked = scores
    if causal:
        n, m = scores.shape[-2:]
        key_at, query_at = torch.arange(m)[None, :], torch.arange(n)[:, None] + (m - n)
        hidden = key_at > query_at
        if window:
            hidden = hidden | (key_at <= query_at - window)
        masked = scores.masked_fill(hidden, -math.inf)
    weights = softmax(masked)
    context = (weights @ v).permute(1, 0, 2).reshape(query.shape[0], -1)
    return scores, weights, context


def smoothed_cross_entropy(logits, targets, smoothing):
    """Szegedy et al. 2016, section 7, uniform prior. Returns the sums of smoothed and plain losses."""
    log_p = logits - torch.logsumexp(logits, -1, keepdim=True)
    nll = -log_p[torch.arange(len(targets)), targets]
    return ((1 - smoothing) * nll - smoothing * log_p.mean(-1)).sum(), nll.sum()
