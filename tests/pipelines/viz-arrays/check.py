"""What viz-dump and attend read of arrays equals NumPy's; a large file is listed without being read."""
import json
import os
import resource
import struct
import subprocess
import time

import h5py
import numpy

random = numpy.random.default_rng(7)
arrays = {f"encoder.layer.{i}.{name}": random.normal(size=size).astype("f4").round(3)
          for i in (2, 3) for name, size in (("weight", (4, 3)), ("bias", (3,)))}
arrays |= {"half": random.normal(size=(2, 3)).astype("f2"), "flags": numpy.array([True, False, True]),
           "numbers": numpy.array([[1, -2**40]]), "one": numpy.array(2.5)}
DTYPES = {"f4": "F32", "f2": "F16", "f8": "F64", "i8": "I64", "b1": "BOOL"}


def safetensors(path, tensors, more=""):
    header, values = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        begin, values = len(values), values + array.tobytes()
        header[name] = {"dtype": DTYPES[array.dtype.str[1:]], "shape": array.shape, "data_offsets": [begin, len(values)]}
    text = json.dumps(header)[:-1] + more % (len(values), len(values)) + "}" if more else json.dumps(header)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text.encode() + values)


def dump(*options):
    return subprocess.run(["viz-dump", *options], check=True, capture_output=True).stdout


safetensors("x.safetensors", arrays, ',"quantised":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[%d,%d]}')
numpy.savez("x.npz", **arrays, fortran=numpy.asfortranarray(random.normal(size=(3, 4, 2))),
            big_endian=random.normal(size=(2, 2)).astype(">f4"), words=numpy.array(["a", "chêne", "樹"]))
numpy.savez_compressed("packed.npz", **arrays)
for path in ("x.safetensors", "x.npz", "packed.npz"):
    read = arrays if path == "x.safetensors" else numpy.load(path)
    for name in read:
        dump(path, "--name", name, "-o", "out.npy")
        out = numpy.load("out.npy", allow_pickle=False)
        numpy.testing.assert_array_equal(out, read[name], err_msg=f"{path} {name}")
        assert out.shape == read[name].shape, name
numpy.save("y.npy", arrays["half"])
dump("y.npy", "-o", "out.npy")
numpy.testing.assert_array_equal(numpy.load("out.npy"), arrays["half"])
print("arrays: equal")

# attend takes queries and keys out of them, and gives what it gives for the same in HDF5.
q, k = random.normal(size=(5, 4)).astype("f4"), random.normal(size=(6, 4)).astype("f4")
safetensors("q.safetensors", {"q": q, "other": arrays["half"]})
numpy.savez("k.npz", k=k)
numpy.save("k.npy", k)
with h5py.File("qk.h5", "w") as file:
    file["q"], file["k"] = q, k
results = []
for query, key in (("qk.h5:q", "qk.h5:k"), ("q.safetensors:q", "k.npz:k"), ("q.safetensors:q", "k.npy:array")):
    subprocess.run(["attend", "--query", query, "--key", key, "--score", "dot", "-o", "a.h5"], check=True)
    results.append(dump("a.h5", "--name", "attention/context", "--npy"))
assert results[0] == results[1] == results[2]
print("attend: equal")

# Shards, as one.
os.mkdir("folder")
names = list(arrays)
weight_map = {}
for shard, part in (("one.safetensors", names[:3]), ("two.safetensors", names[3:])):
    safetensors(f"folder/{shard}", {name: arrays[name] for name in part})
    weight_map |= dict.fromkeys(part, shard)
with open("folder/model.safetensors.index.json", "w") as file:
    json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, file)
os.mkdir("empty-folder")
dump("folder", "-o", "whole.safetensors")
for name in arrays:
    assert dump("whole.safetensors", "--name", name, "--npy") == dump("x.safetensors", "--name", name, "--npy"), name
dump("whole.safetensors", "-o", "again.safetensors")
with open("whole.safetensors", "rb") as first, open("again.safetensors", "rb") as second:
    assert first.read() == second.read()
print("shards: equal")

with h5py.File("some.h5", "w") as file:
    file["group/a"] = random.normal(size=(2, 3)).astype("f4")
    file["group/b"] = numpy.arange(3, dtype="i4")
    file["words"], file["large"] = ["a", "b"], numpy.array([1e30], "f4")

# Two sparse files, of 8 GB: 2000 tensors, and one tensor of which one value is drawn.
size, count = 4_000_000, 2000
header = {f"layer.{i}": {"dtype": "F32", "shape": [size // 4], "data_offsets": [i * size, (i + 1) * size]} for i in range(count)}
text = json.dumps(header).encode()
with open("large.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.truncate(8 + len(text) + size * count)
start = time.monotonic()
listed = dump("large.safetensors", "--list", "--tsv").count(b"\n")
seconds = time.monotonic() - start
stats = dump("large.safetensors", "--name", "layer.1999", "--stats")
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
os.remove("large.safetensors")
assert listed == count + 1 and seconds < 5 and stats.startswith(b"statistic"), (listed, seconds)
assert memory < 200_000 or "-sanitize" in os.environ["TOOLS"], memory
print("large: listed")
