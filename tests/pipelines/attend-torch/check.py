"""torch.nn.MultiheadAttention and scaled dot-product attention against attend, which reads PyTorch's weights as they
are stored: [d_out, d_in], in_proj_weight with q, k and v of all heads one after the other."""
import subprocess

import h5py
import torch

torch.manual_seed(3)
torch.set_num_threads(1)


def tensor(*shape):
    return torch.randn(*shape)


def run(*words):
    subprocess.run(["attend", "-q", *words, "-o", "out.h5"], check=True)
    with h5py.File("out.h5") as file:
        group = file["attention"]
        return {name: torch.from_numpy(group[name][()][:, 0]) for name in ("weights", "context", "output") if name in group}


def compare(name, module, inputs, words, **options):
    wanted, weights = module(*inputs, need_weights=True, average_attn_weights=False, **options)
    out = run(*words)
    torch.testing.assert_close(out["output"], wanted.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(out["weights"], weights.detach(), rtol=1e-5, atol=1e-6)
    print(f"{name}: {weights.numel()} weights")


def main():
    x, memory = tensor(3, 6, 16), tensor(3, 9, 10)
    stacked = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    single = torch.nn.MultiheadAttention(16, 2, batch_first=True, kdim=10, vdim=10, add_bias_kv=False)
    for module in (stacked, single):
        torch.nn.init.normal_(module.in_proj_bias)
        torch.nn.init.normal_(module.out_proj.bias)
    bias, open_ = tensor(6, 6), torch.rand(6, 9) < 0.6
    open_[:, 4] = True
    with h5py.File("t.h5", "w") as file:
        file["x"], file["memory"], file["bias"], file["open"] = x, memory, bias, open_
        file["stacked/qkv/weight"] = stacked.in_proj_weight.detach()
        file["stacked/qkv/bias"] = stacked.in_proj_bias.detach()
        file["stacked/output/weight"] = stacked.out_proj.weight.detach()
        file["stacked/output/bias"] = stacked.out_proj.bias.detach()
        parts = zip(("query", "key", "value"), (single.q_proj_weight, single.k_proj_weight, single.v_proj_weight),
                    single.in_proj_bias.chunk(3))
        for part, weight, part_bias in parts:
            file[f"single/{part}/weight"] = weight.detach()
            file[f"single/{part}/bias"] = part_bias.detach()
        file["single/output/weight"] = single.out_proj.weight.detach()
        file["single/output/bias"] = single.out_proj.bias.detach()

    of_self = ["--query", "t.h5:/x", "--self", "--heads", "4", "--parameters", "t.h5:/stacked", "--qkv-order", "part-major",
               "--out-in"]
    compare("stacked", stacked, (x, x, x), of_self)
    compare("stacked, causal", stacked, (x, x, x), of_self + ["--mask", "causal"],
            attn_mask=torch.ones(6, 6, dtype=torch.bool).triu(1))
    compare("stacked, with a bias", stacked, (x, x, x), of_self + ["--bias", "t.h5:/bias"], attn_mask=bias)
    cross = ["--query", "t.h5:/x", "--key", "t.h5:/memory", "--heads", "2", "--parameters", "t.h5:/single", "--out-in"]
    compare("single projections", single, (x, memory, memory), cross)
    compare("single projections, masked", single, (x, memory, memory), cross + ["--mask", "t.h5:/open"],
            attn_mask=~open_)

    # Grouped heads, causal from the start, as PyTorch's scaled_dot_product_attention defines them.
    q, k, v = tensor(2, 6, 5, 4), tensor(2, 2, 7, 4), tensor(2, 2, 7, 3)
    with h5py.File("g.h5", "w") as file:
        file["q"], file["k"], file["v"] = q, k, v
    scores = q @ k.repeat_interleave(3, 1).transpose(-1, -2) / 2
    weights = scores.masked_fill(~torch.ones(5, 7, dtype=torch.bool).tril(), float("-inf")).softmax(-1)
    context = (weights @ v.repeat_interleave(3, 1)).transpose(1, 2).flatten(2)
    out = run("--query", "g.h5:/q", "--key", "g.h5:/k", "--value", "g.h5:/v", "--mask", "causal-start")
    torch.testing.assert_close(out["weights"], weights, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(out["context"], context, rtol=1e-5, atol=1e-6)
    print(f"grouped, causal from the start: {weights.numel()} weights")


main()
