"""The places of pictures as NumPy computes them from the model file, and features for the next step."""
import h5py
import numpy

model = h5py.File("caption.h5")["model/parameters"]
weight = lambda path: model[path][()].astype(float)
pictures = numpy.load("test.npy") / 255.0
# 4 * 4 patches of 8 * 8, a patch channel by channel
patches = ((pictures - 0.5) / 0.5).reshape(-1, 3, 4, 8, 4, 8).transpose(0, 2, 4, 1, 3, 5).reshape(-1, 16, 192)
embedded = patches @ weight("encoder/patches/weight") + weight("encoder/patches/bias") + weight("encoder/positions/weight")
relu = lambda x: numpy.maximum(x, 0)
annotations = relu(relu(embedded) @ weight("encoder/layer_0/annotation/weight") + weight("encoder/layer_0/annotation/bias"))
found = h5py.File("test.h5")
for name, got, wanted in (("embeddings", found["embeddings/values"][()], embedded),
                          ("annotations", found["encoder/states"][:, 0], annotations)):
    print(name, got.shape, "agree" if abs(got - wanted).max() < 1e-5 and abs(wanted).max() > 0.1 else abs(got - wanted).max())

weights = h5py.File("attention.h5")["cross_attention/weights"][:, 0, 0]
lengths = h5py.File("attention.h5")["cross_attention/query_length"][()]
print("weights sum to 1:", all(abs(w[:n].sum(1) - 1).max() < 1e-5 for w, n in zip(weights, lengths)))
hard = h5py.File("hard-attention.h5")["cross_attention/weights"][:, 0, 0]
print("hard attention is on one place:", set(numpy.unique(hard)) == {0.0, 1.0})

rng = numpy.random.default_rng(1)
for part in "train", "valid":
    images = len(numpy.load(f"{part}.npy"))
    numpy.save(f"{part}.features.npy", rng.normal(size=(images, 5, 7)).astype(numpy.float32))
