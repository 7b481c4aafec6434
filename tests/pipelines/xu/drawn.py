"""What sampling with hard attention left: the attention and the numbers of the words attended to."""
import h5py
import numpy as np

with h5py.File("drawn.h5") as file:
    group = file["cross_attention"]
    weights, lengths = group["weights"][:, :, 0, 0], group["query_length"][()]
queries = np.arange(weights.shape[2]) < lengths[..., None]
assert (np.sort(weights[queries])[:, -2:] == (0, 1)).all()
looked = weights.argmax(-1)
first = [len(set(ranks)) for ranks in looked[:, :, 0]]
print("nine samples first attend to more than one word:", np.mean(np.array(first) > 1) > 0.9)

with h5py.File("sampled.h5") as file, h5py.File("trace.h5") as trace:
    ids, logprob = (file["hypotheses/" + name][:, 0] for name in ("ids", "token_logprob"))
    length = file["hypotheses/length"][:, 0]
    p = trace["decoder/probabilities/values"][()]
    alpha, picked = (trace[f"decoder/layer_0/cross_attention/{name}/values"][:, 0] for name in ("probabilities", "weights"))
words, likeliest = 0, 0
for s, n in enumerate(length):
    np.testing.assert_allclose(np.log(p[s, np.arange(n), ids[s, :n]]), logprob[s, :n], rtol=1e-4, atol=1e-5)
    words += n
    likeliest += (picked[s, :n].argmax(-1) == alpha[s, :n].argmax(-1)).sum()
print("the trace has the sampled words' probabilities, by the words attended to; these are the most likely ones in all steps:",
      likeliest == words)
