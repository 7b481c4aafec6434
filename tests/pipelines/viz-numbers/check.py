"""Slices, statistics and histograms of viz-dump against NumPy and h5py."""
import io
import json
import subprocess

import h5py
import numpy

random = numpy.random.default_rng(5)
tensors = {
    "f32": random.normal(size=(3, 4, 5)).astype("f4"),
    "f64": random.normal(size=(7,)),
    "i32": random.integers(-9, 9, (2, 6), dtype="i4"),
    "i64": numpy.array([[2**40, -(2**50)]]),
    "u8": random.integers(0, 255, (4, 1, 2), dtype="u1"),
    "one": numpy.array(2.5),
    "wide": numpy.concatenate([random.normal(size=5000), [numpy.nan, numpy.inf, -numpy.inf, 0, 0]]),
}
words = ["le", "chêne", "樹", ""]
with h5py.File("tensors.h5", "w") as file:
    for name, values in tensors.items():
        file[name] = values
    file["words"] = words


def dump(*options, binary=False):
    result = subprocess.run(["viz-dump", "tensors.h5", *options], check=True, capture_output=True).stdout
    return result if binary else result.decode()


for name, values in tensors.items():
    for how in ("file", "pipe"):
        if how == "file":
            dump("--name", name, "-o", "out.npy")
            read = numpy.load("out.npy", allow_pickle=False)
        else:
            read = numpy.load(io.BytesIO(dump("--name", name, "--npy", binary=True)), allow_pickle=False)
        assert read.dtype == values.dtype and read.shape == values.shape, (name, read.dtype, read.shape)
        assert read.flags.c_contiguous
        numpy.testing.assert_array_equal(read, values)
dump("--name", "f32", "--slice", "1=2", "--npy", "-o", "out.npy")
numpy.testing.assert_array_equal(numpy.load("out.npy"), tensors["f32"][:, 2])
dump("--name", "words", "--npy", "-o", "out.npy")
assert list(numpy.load("out.npy", allow_pickle=False)) == words
print("npy: equal")

for name in ("f32", "f64", "wide"):
    values = tensors[name].astype("f8").ravel()
    finite = values[numpy.isfinite(values)]
    wanted = {
        "count": values.size, "nan": numpy.isnan(values).sum(), "infinite": numpy.isinf(values).sum(),
        "zero": (values == 0).sum(), "mean": finite.mean(), "deviation": finite.std(),
        "norm": numpy.linalg.norm(finite), "min": finite.min(), "lower_quartile": numpy.quantile(finite, 0.25),
        "median": numpy.median(finite), "upper_quartile": numpy.quantile(finite, 0.75), "max": finite.max(),
    }
    lines = dump("--name", name, "--stats").splitlines()[1:]
    got = {line.split("\t")[0]: float(line.split("\t")[1]) for line in lines}
    assert got.keys() == wanted.keys()
    numpy.testing.assert_allclose([got[k] for k in wanted], list(wanted.values()), rtol=1e-12)
    assert json.loads(dump("--name", name, "--stats", "--json")) == got
print("statistics: equal")

for options, bins, limits in (([], 40, None), (["--bins", "7"], 7, None), (["--bins", "10", "--range=-1:1"], 10, (-1, 1))):
    finite = tensors["wide"][numpy.isfinite(tensors["wide"])]
    counts, edges = numpy.histogram(finite, bins, limits)
    table = [line.split("\t") for line in dump("--name", "wide", "--histogram", "--tsv", *options).splitlines()[1:]]
    assert [int(row[2]) for row in table] == list(counts)
    numpy.testing.assert_allclose([float(row[0]) for row in table], edges[:-1], rtol=1e-12, atol=1e-15)
print("histograms: equal")

table = [line.split("\t") for line in dump("--name", "f32", "--top", "2").splitlines()[1:]]
order = numpy.argsort(-tensors["f32"], axis=2, kind="stable")[:, :, :2]
for row in table:
    a, b, place, index = int(row[0]), int(row[2]), int(row[4]), int(row[5])
    assert order[a, b, place] == index and numpy.float32(row[7]) == tensors["f32"][a, b, index]
assert len(table) == 3 * 4 * 2
print("top: equal")
