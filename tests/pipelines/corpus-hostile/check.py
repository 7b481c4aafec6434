"""See cmd. `tokenize --parts` reads every value of a corpus file, `train` maps it."""
import os
import random
import shutil
import subprocess

import h5py
import numpy as np

ORIGINAL = open("pairs.h5", "rb").read()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr.strip()


def read():
    return run("tokenize", "--pairs", "a.en", "a.fr", "--vocab", "v.h5", "--parts", "x.h5", "-o", "joined.h5")


def learn():
    return run("train", "--corpus", "x.h5", "--vocab", "v.h5", "--preset", "transformer-tiny", "--d-model", "4",
               "--d-ff", "4", "--n-heads", "1", "--max-updates", "1", "--dry-run", "-q")


def stored():
    """Where the bytes of the values that are there lie; their chunks' rest, and that of the file."""
    values, rest = [], []
    with h5py.File("pairs.h5") as f:
        for side in ("source", "target"):
            for name in ("ids", "length"):
                data = f[f"corpus/{side}/{name}"]
                chunk = data.id.get_chunk_info(0)
                values.append((chunk.byte_offset, chunk.byte_offset + data.size * data.dtype.itemsize))
                rest.append((values[-1][1], chunk.byte_offset + chunk.size))
    covered = sorted(values + rest)
    inside = lambda i: any(a <= i < b for a, b in covered)
    metadata = [i for i in range(len(ORIGINAL)) if not inside(i)]
    return values, rest, metadata


def sweep():
    values, rest, metadata = stored()
    rng = random.Random(1)
    places = metadata[:: max(1, len(metadata) // int(os.environ.get("PLACES", "150")))]
    places += [rng.randrange(a, b) for a, b in values for _ in range(10)]
    places += [rng.randrange(a, b) for a, b in rest for _ in range(3)] + [b - 1 - i for _, b in rest for i in range(4)]
    refused = 0
    for place in places:
        data = bytearray(ORIGINAL)
        data[place] ^= rng.choice((1, 0x80, 0xFF))
        with open("x.h5", "wb") as f:
            f.write(data)
        status, said = read()
        if status == 0:
            assert open("joined.h5", "rb").read() == ORIGINAL, f"byte {place}: another result"
            assert place in metadata, f"byte {place}: a changed value was read"
        else:
            assert status == 1 and said.startswith("tokenize: x.h5") and "\n" not in said, f"byte {place}: {status} {said}"
            refused += 1
    assert refused > len(places) * 0.6, (refused, len(places))
    print("every byte is refused or changes nothing")


def replace(f, path, values, **how):
    attributes = dict(f[path].attrs)
    del f[path]
    how = {"chunks": (1024,), "fletcher32": True, "maxshape": (None,), **how}
    f.create_dataset(path, data=values, **how).attrs.update(attributes)


def of(path, change, **how):
    return lambda f: replace(f, path, change(f[path][:]), **how)


def with_value(at, value):
    def change(values):
        values = values.copy()
        values[at] = value
        return values
    return change


def never_written(f):
    ids = f["corpus/source/ids"]
    ids.resize((ids.size + 3 * ids.chunks[0],))


def soft_link(f):
    f["corpus/away"] = f["corpus/source/ids"]
    del f["corpus/source/ids"]
    f["corpus/source/ids"] = h5py.SoftLink("/corpus/away")


CASES = {
    "an id beyond the vocabulary": of("corpus/source/ids", with_value(3, 60000)),
    "an id below 0": of("corpus/target/ids", lambda v: with_value(0, -1)(v.astype("<i4"))),
    "a sentence of no tokens": of("corpus/target/length", with_value(7, 0)),
    "lengths that do not add up": of("corpus/source/length", with_value(7, 60000)),
    "a length below 0": of("corpus/source/length", lambda v: with_value(1, -5)(v.astype("<i4"))),
    "fewer targets": of("corpus/target/length", lambda v: v[:-1]),
    "fewer sentences": lambda f: [replace(f, f"corpus/{s}/length", f[f"corpus/{s}/length"][:-1]) or
                                  replace(f, f"corpus/{s}/ids", f[f"corpus/{s}/ids"][:f[f"corpus/{s}/length"][:].sum()])
                                  for s in ("source", "target")],
    "no checksum": of("corpus/source/ids", lambda v: v, fletcher32=False),
    "compressed": of("corpus/source/ids", lambda v: v, compression="gzip"),
    "contiguous": of("corpus/source/ids", lambda v: v, chunks=None, fletcher32=None, maxshape=None),
    "of 64 bits": of("corpus/source/ids", lambda v: v.astype("<i8")),
    "big-endian": of("corpus/source/ids", lambda v: v.astype(">u2")),
    "of two dimensions": of("corpus/source/length", lambda v: v.reshape(-1, 1), chunks=(8, 1), maxshape=None),
    "chunks that were never written": never_written,
    "a link": soft_link,
    "a side missing": lambda f: f.__delitem__("corpus/target"),
    "no digest": lambda f: f["corpus"].attrs.__delitem__("source_sha256"),
    "another digest": lambda f: f["corpus"].attrs.__setitem__("source_sha256", np.bytes_("0" * 64)),
    "another vocabulary": lambda f: f["corpus"].attrs.__setitem__("target_vocabulary_digest", np.bytes_("0" * 64)),
    "a digest that is a number": lambda f: f["corpus"].attrs.__setitem__("target_sha256", 3),
    "a first sentence below 0": lambda f: f.attrs.__setitem__("first_sentence", -1),
    "a version to come": lambda f: f.attrs.__setitem__("format_version", 9),
}


def lie():
    for name, change in CASES.items():
        shutil.copy("pairs.h5", "x.h5")
        with h5py.File("x.h5", "a") as f:
            change(f)
        status, said = read()
        assert status == 1 and said.startswith("tokenize: x.h5") and "\n" not in said, f"{name}: {status} {said}"
        print(f"{name}: {said.removeprefix('tokenize: ')[:150]}")
        status, said = learn()
        if "digest" not in name and name != "fewer sentences":  # a run has nothing else to compare these with
            assert status == 1 and "\n" not in said, f"{name}: train: {status} {said}"


sweep()
lie()
os.remove("x.h5")
