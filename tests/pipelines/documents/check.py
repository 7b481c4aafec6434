"""The weights that are kept are those of the trace; each sentence attends to its own words; a sentence's vector is what its words'
weights make of their states; what is classified is what the sentences' weights make of theirs."""
import h5py
import numpy as np

kept, trace, encode = (h5py.File(name + ".h5") for name in ("attention", "decode", "encode"))
lines = [line.split() for line in open("test.txt")]


def same(what, a, b):
    print(what, "equal" if a.shape == b.shape and np.abs(a - b).max() < 1e-5 else (a.shape, b.shape))


words, sentences = (kept[name + "/weights"][:, 0] for name in ("word_attention", "sentence_attention"))
same("words", words, trace["word_attention/weights/values"][()])
same("sentences", sentences, trace["sentence_attention/weights/values"][()])
right = True
for d, line in enumerate(lines):
    starts = [0] + [i + 1 for i, word in enumerate(line[:-1]) if word in (".", "!", "?")]
    ends = starts[1:] + [len(line) + 1]  # and </s>
    wanted = np.zeros(words[d, 0].shape, bool)
    for i, (first, last) in enumerate(zip(starts, ends)):
        wanted[i, first:last] = True
    right &= np.array_equal(words[d, 0] > 0, wanted) and np.allclose(words[d, 0].sum(-1), wanted.any(-1), atol=1e-5)
    right &= np.array_equal(sentences[d, 0, 0] > 0, wanted.any(-1)) and abs(sentences[d].sum() - 1) < 1e-5
    right &= kept["word_attention/query_length"][d] == len(starts) == kept["sentence_attention/key_length"][d]
    right &= [t.decode() for t in kept["word_attention/key_token"][d, :len(line)]] == line
print("of their own words", right)
same("vectors of sentences", words[:, 0] @ encode["encoder/output/values"][()], trace["word_attention/context/values"][()])
same("classified", sentences[:, 0] @ trace["sentence_encoder/output/values"][()], trace["classes/pooled/values"][()])
