"""What the PyTorch twins of train_step share."""
import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS = 0, 2
LABEL_SMOOTHING = 0.1
LOSS_ROWS = 512  # logits that exist at a time


class ProjectedCrossEntropy(torch.autograd.Function):
    """Mean label-smoothed cross-entropy of softmax(h W^T), its gradients taken block by block on the way forward. Products are
    in bfloat16 where autocast is on."""

    @staticmethod
    def forward(ctx, h, weight, targets):
        reduced = torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", enabled=False):
            n, classes = h.shape[0], weight.shape[0]
            d_h, d_weight = torch.empty_like(h), torch.zeros_like(weight)
            w = weight.bfloat16() if reduced else weight
            row, loss, low = torch.arange(LOSS_ROWS), 0.0, LABEL_SMOOTHING / classes
            for first in range(0, n, LOSS_ROWS):
                x, y = h[first:first + LOSS_ROWS].to(w.dtype), targets[first:first + LOSS_ROWS]
                z = torch.mm(x, w.t()).float()
                top, total, right = z.amax(1, keepdim=True), z.sum(1), z.gather(1, y[:, None])[:, 0]
                norm = z.sub_(top).exp_().sum(1, keepdim=True)
                loss += float((top[:, 0] + norm[:, 0].log() - (1 - LABEL_SMOOTHING) * right - low * total).sum())
                z.mul_(1 / (n * norm)).sub_(low / n)
                z[row[:len(y)], y] -= (1 - LABEL_SMOOTHING) / n
                if reduced:
                    z = z.bfloat16()
                    d_h[first:first + LOSS_ROWS] = torch.mm(z, w)
                    d_weight += torch.mm(z.t(), x)
                else:
                    torch.mm(z, w, out=d_h[first:first + LOSS_ROWS])
                    d_weight.addmm_(z.t(), x)
        ctx.save_for_backward(d_h, d_weight)
        return torch.tensor(loss / n)

    @staticmethod
    def backward(ctx, d_loss):
        d_h, d_weight = ctx.saved_tensors
        return d_h.mul_(d_loss), d_weight.mul_(d_loss), None


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training) if self.p > 0 else x


def rows_of_words(states, ids):
    """The states [batch, n, d] where `ids` [batch, n] are no padding, and these ids."""
    kept = (ids != PAD).reshape(-1).nonzero()[:, 0]
    return states.reshape(-1, states.shape[-1]).index_select(0, kept), ids.reshape(-1)[kept]
