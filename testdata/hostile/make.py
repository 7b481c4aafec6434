#!/usr/bin/python3
"""Writes HDF5 files that a reader must refuse: `make.py FOLDER`. One function per file; what it returns are words that
the refusal must contain. The files are small and made on the spot, so none is kept in the repository."""
import sys
import zlib

import h5py
import numpy

LOW = h5py.h5d
SIMPLE = h5py.h5s.create_simple


def low_dataset(f, name, shape, dtype=h5py.h5t.IEEE_F32LE, plist=None):
    return LOW.create(f.id, name.encode(), dtype, SIMPLE(shape), dcpl=plist)


def soft_link(f):
    f["real"] = [1.0]
    f["alias"] = h5py.SoftLink("/real")
    return "alias", "soft link"


def soft_link_in_the_middle_of_a_path(f):
    f["real/x"] = [1.0]
    f["outer/inner"] = h5py.SoftLink("/real")
    return "outer/inner", "soft link"


def soft_link_cycle(f):
    f["a"] = h5py.SoftLink("/b")
    f["b"] = h5py.SoftLink("/a")
    return ("soft link",)


def external_link(f):
    f["secret"] = h5py.ExternalLink("/etc/passwd", "/")
    return "secret", "external link"


def external_storage(f):
    f.create_dataset("secret", (20,), "u1", external=[("/etc/passwd", 0, 20)])
    return "secret", "external file"


def virtual_dataset(f):
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (4,), "f4")
    f.create_virtual_dataset("secret", layout)
    return "secret", "virtual"


def hard_link_cycle(f):
    group = f.create_group("a")
    group["again"] = group
    return ("nested deeper",)


def deep_groups(f):
    f["/".join("d" * 60)] = [1.0]
    return ("nested deeper",)


def many_attributes(f):
    f["x"] = [1.0]
    for i in range(1500):
        f["x"].attrs[f"a{i}"] = i
    return "1500 attributes", "/x"


def huge_name(f):
    f["n" * 5000] = [1.0]
    return ("5000 bytes",)


def unknown_filter(f):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4,))
    plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
    low_dataset(f, "x", (4,), plist=plist)
    return "/x", "32015", "zstd"


def lzf_filter(f):
    f.create_dataset("x", data=numpy.ones(400, "f4"), compression="lzf")
    return "/x", "32000", "lzf"


def claims_8_pebibytes(f):
    f.create_dataset("x", (2**51,), "f4", chunks=(1024,))
    return "/x", "bytes of memory"


def claims_to_overflow(f):
    f.create_dataset("x", (2**32, 2**32), "f4", chunks=(16, 16))
    return "/x", "too large"


def claims_4_gibibytes_many_times(f):
    for i in range(20):
        f.create_dataset(f"x{i}", (2**30 - 1,), "f4", chunks=(1024,))
    return ("bytes of memory",)


def many_just_below_the_limit(f):
    for i in range(40):
        f.create_dataset(f"x{i}", (1_000_000,), "f4", chunks=(1000,))
    return ("bytes of memory",)


def one_huge_chunk(f):
    f.create_dataset("x", (2, 3), "f4", maxshape=(None, None), chunks=(2**14, 2**15))
    return "/x", "chunk"


def repeated_string(f):
    """Many references to one long string: 3 MB that unpack to 30 GB."""
    f.create_dataset("x", (20_000,), h5py.string_dtype(), chunks=(20_000,))
    f["x"][0] = "s" * 1_500_000
    offset = f["x"].id.get_chunk_info(0)
    reference = f["x"].id.read_direct_chunk((0,))[1][:16]
    f["x"].id.write_direct_chunk((0,), reference * 20_000)
    return "/x", "memory"


def string_beyond_its_heap(f):
    """HDF5 1.10 itself crashes on this one."""
    f["x"] = ["needle", "b"]
    return "/x", "damaged"


def string_that_claims_100_megabytes(f):
    """HDF5 1.10 fills as many bytes with zeros before it looks whether the string has them."""
    f.create_dataset("x", (2,), h5py.string_dtype(), chunks=(2,))
    f["x"][0] = "s"
    references = f["x"].id.read_direct_chunk((0,))[1]
    f["x"].id.write_direct_chunk((0,), (100 << 20).to_bytes(4, "little") + references[4:])
    return "/x", "strings"


def damage(data):
    """The size of a string, 8 bytes before it, becomes huge."""
    at = data.index(b"needle") - 8
    return data[:at] + b"\xff\xff\xff\x7f" + data[at + 4:]


string_beyond_its_heap.damage = damage


def repeated_filter(f):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((1000,))
    plist.set_deflate(9)
    plist.set_deflate(9)
    dataset = low_dataset(f, "x", (1000,), plist=plist)
    bomb = zlib.compress(zlib.compress(bytes(100_000_000), 9), 9)
    dataset.write_direct_chunk((0,), bomb)
    return "/x", "same filter twice"


def wide_dimensions_from_lengths(f):
    f.create_dataset("g/length", data=numpy.array([2**31 - 1, -5], "i4"))
    f["g/length"].dims[0].label = "sentence"
    f.create_dataset("g/x", (2, 2**50), "u1", chunks=(1, 64))
    f["g/x"].dims[0].label, f["g/x"].dims[1].label = "sentence", "position"
    return "/g/x", "bytes of memory"


def chunk_that_decodes_to_less(f):
    x = f.create_dataset("x", (4, 1000), "f4", chunks=(4, 1000), compression="gzip")
    x.id.write_direct_chunk((0, 0), zlib.compress(numpy.ones(100, "f4").tobytes()))
    return "/x", "400 bytes", "wanted 16000"


def chunk_that_decodes_to_more(f):
    x = f.create_dataset("x", (4, 1000), "f4", chunks=(4, 1000), compression="gzip")
    x.id.write_direct_chunk((0, 0), zlib.compress(bytes(1 << 24)))
    return "/x", "more than 16000", "wanted 16000"


def values_never_written(f):
    f.create_dataset("x", (1 << 29,), "f4", chunks=(1 << 20,))
    f["padding"] = numpy.random.default_rng(1).random(1 << 20)
    return "/x", "never written"


def different_numbers_of_sentences(f):
    for name, size in ("a", 3), ("b", 4):
        f[name] = numpy.zeros(size, "f4")
        f[name].dims[0].label = "sentence"
    return "/b", "4 sentences", "3"


def nine_dimensions(f):
    f["x"] = numpy.zeros((1,) * 9, "f4")
    return "/x", "9 dimensions"


def compound(f):
    f["x"] = numpy.zeros(3, [("a", "f4"), ("b", "i4")])
    return "/x", "compound"


def complex_numbers(f):
    f["x"] = numpy.zeros(3, "c8")
    return "/x", "compound"


def references(f):
    f["x"] = numpy.array([f.ref], dtype=h5py.ref_dtype)
    return "/x", "reference"


def ragged(f):
    f.create_dataset("x", (2,), h5py.vlen_dtype("i4"))[0] = [1, 2, 3]
    return "/x", "ragged"


def opaque(f):
    f["x"] = numpy.array([b"abc"], "V3")
    return "/x", "opaque"


def enumeration(f):
    f.create_dataset("x", (3,), h5py.enum_dtype({"RED": 0, "GREEN": 1}, "i4"))
    return "/x", "enumeration"


def unsigned_64_bits(f):
    f["x"] = numpy.array([2**63], "u8")
    return "/x", "unsigned 64-bit"


def long_double(f):
    f["x"] = numpy.zeros(2, "f16")
    return "/x", "floating point"


def no_shape(f):
    f["x"] = h5py.Empty("f4")
    return "/x", "no shape"


def newer_format(f):
    f.attrs["format"], f.attrs["format_version"] = "heed", 7
    return "version 7", "update heed"


def format_without_version(f):
    f.attrs["format"] = "heed"
    return ("format_version",)


def escape_sequences(f):
    f["evil\x1b[31m\nname"] = numpy.zeros(2, "c8")
    return ("\\x1b[31m\\n",)


CASES = [make for make in dict(globals()).values()
         if callable(make) and getattr(make, "__module__", "") == __name__ and make.__name__ not in ("low_dataset", "damage")]


def write_all(folder):
    """Writes FOLDER/<case>.h5 for each case; yields (case, path, words)."""
    for make in CASES:
        path = f"{folder}/{make.__name__}.h5"
        with h5py.File(path, "w") as f:
            words = make(f)
        if hasattr(make, "damage"):
            with open(path, "r+b") as file:
                data = make.damage(file.read())
                file.seek(0)
                file.write(data)
        yield make.__name__, path, words


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make.py FOLDER")
    for _, path, words in write_all(sys.argv[1]):
        print(path, *words, sep="\t")
