"""Hostile files of arrays (safetensors, .npy, .npz, Marian's, PNG, JPEG) are refused in one line, quickly and in little memory. All are
made here byte by byte; tests/unit/io/array_file_test.cpp changes each byte of sound ones."""
import json
import math
import os
import struct
import subprocess
import time
import zlib

from support import TensorsTest, main

SANITIZED = "-sanitize" in TensorsTest.program  # sanitizers need memory of their own
MEMORY = 64 * 1024  # KiB


def safetensors(header, values=b"", length=None):
    text = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + values


def one(dtype='"F32"', shape="[1]", offsets="[0,4]", name='"x"'):
    return '{%s:{"dtype":%s,"shape":%s,"data_offsets":%s}}' % (name, dtype, shape, offsets)


def two(first, second):
    return ('{"x":{"dtype":"U8","shape":[%d],"data_offsets":%s},"y":{"dtype":"U8","shape":[%d],"data_offsets":%s}}'
            % (first[1] - first[0], json.dumps(first), second[1] - second[0], json.dumps(second)))


def marian(kind=0x404, shape=(1,), values=b"abcd", name=b"x\0", version=1, count=1, name_size=None, dimensions=None, size=None, padding=0):
    """Marian's binary model, of one array."""
    get = lambda stated, right: right if stated is None else stated
    head = struct.pack("<6Q", version, count, get(name_size, len(name)), kind, get(dimensions, len(shape)), get(size, len(values)))
    return head + name + struct.pack(f"<{len(shape)}i", *shape) + struct.pack("<Q", padding) + values


def npy(descr="'|u1'", order="False", shape="(3,)", values=b"abc", header=None, version=(1, 0), length=None):
    text = (header or "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)).encode("latin-1")
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes(version) + size + text + values


class Member:
    """A zip member; what is given replaces what would be right."""

    def __init__(self, data, name=b"x.npy", method=0, **wrong):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflate.compress(data) + deflate.flush() if method == 8 else data
        right = dict(packed=packed, flags=0, crc=zlib.crc32(data), packed_size=len(packed), size=len(data), extra=b"",
                     central_extra=b"", offset=None)
        self.name, self.method = name, method
        self.__dict__.update(right, **{key: value for key, value in wrong.items() if not key.startswith("local_")})
        self.local = {key[len("local_"):]: value for key, value in wrong.items() if key.startswith("local_")}

    def fields(self, own):
        get = lambda key: own.get(key, getattr(self, key))
        return struct.pack("<HHHHHIII", 20, get("flags"), get("method"), 0, 0x21, get("crc"), get("packed_size"),
                           get("size"))


def archive(*members, entries=None, directory_size=None, directory_at=None, comment=b"", disk=0, before_end=b""):
    out, directory = b"", b""
    for member in members:
        at = len(out) if member.offset is None else member.offset
        name = member.local.get("name", member.name)
        out += b"PK\3\4" + member.fields(member.local) + struct.pack("<HH", len(name), len(member.extra)) + name
        out += member.extra + member.packed
        directory += b"PK\1\2" + struct.pack("<H", 20) + member.fields({})
        directory += struct.pack("<HHHHHII", len(member.name), len(member.central_extra), 0, 0, 0, 0, at)
        directory += member.name + member.central_extra
    count = len(members) if entries is None else entries
    end = struct.pack("<HHHHIIH", disk, disk, count, count, len(directory) if directory_size is None else directory_size,
                      len(out) if directory_at is None else directory_at, len(comment))
    return out + directory + before_end + b"PK\5\6" + end + comment


GOOD = npy()
MEGABYTES = npy(shape="(8000000,)", values=bytes(8_000_000))

# name: bytes, words of the message
HOSTILE = {
    # safetensors. Without a { at byte 8 it is not taken for one.
    "st-empty": (b"", ["empty"]),
    "st-seven-bytes": (b"\x02\0\0\0\0\0\0", ["not an HDF5 file"]),
    "st-no-brace": (safetensors(b'["x"]   '), ["not an HDF5 file"]),
    "st-length-zero": (safetensors(b"", b"{}"), ["does not begin with {"]),
    "st-length-too-large": (safetensors("{}", length=100_000_001), ["100000001", "at most 100000000"]),
    "st-length-huge": (safetensors("{}", length=2**64 - 1), ["18446744073709551615"]),
    "st-length-beyond-file": (safetensors("{}", length=99_999_999), ["cut short", "99999999"]),
    "st-length-cuts-json": (safetensors(one(), b"abcd", length=20), ["not valid JSON"]),
    "st-not-utf-8": (safetensors(b'{"\xff":{}}'), ["not UTF-8"]),
    "st-surrogate": (safetensors(b'{"\xed\xa0\x80":{}}'), ["not UTF-8"]),
    "st-nul-ends-json": (safetensors('{}\0{"x":1}'), ["NUL"]),
    "st-two-objects": (safetensors("{}{}"), ["not valid JSON"]),
    "st-comma": (safetensors('{"x":{},}'), ["lacks one of"]),
    "st-comment": (safetensors("{/* */}"), ["not valid JSON"]),
    "st-unfinished": (safetensors('{"x":'), ["not valid JSON"]),
    "st-two-names": (safetensors('{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                                 '"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"a"), ["two entries", '"x"']),
    "st-escaped-twin": (safetensors('{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                                    '"\\u0078":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"a"), ["two entries"]),
    "st-two-dtypes": (safetensors('{"x":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,1]}}', b"a"),
                      ["dtype twice"]),
    "st-two-metadata": (safetensors('{"__metadata__":{},"__metadata__":{}}'), ["two entries"]),
    "st-metadata-twice": (safetensors('{"__metadata__":{"a":"1","a":"2"}}'), ["__metadata__", "twice"]),
    "st-metadata-number": (safetensors('{"__metadata__":{"a":1}}'), ["a number where a string of __metadata__"]),
    "st-metadata-nested": (safetensors('{"__metadata__":{"a":{}}}'), ["an object where a string"]),
    "st-depth": (safetensors('{"x":' + "[" * 90_000 + "]" * 90_000 + "}"), ["an array where the object of"]),
    "st-deep-objects": (safetensors('{"a":' * 90_000 + "1" + "}" * 90_000), ["unknown field"]),
    "st-deep-shape": (safetensors(one(shape="[[[[1]]]]"), b"abcd"), ["an array where an integer"]),
    "st-negative-size": (safetensors(one(shape="[-1]"), b"abcd"), ["the number -1 where an integer from 0 in shape"]),
    "st-fraction": (safetensors(one(shape="[1.5]"), b"abcd"), ["the number 1.5"]),
    "st-exponent": (safetensors(one(shape="[1e0]"), b"abcd"), ["the number 1e0"]),
    "st-beyond-63-bits": (safetensors(one(shape="[9223372036854775808]"), b"abcd"), ["9223372036854775808", "too large"]),
    "st-beyond-64-bits": (safetensors(one(shape="[18446744073709551616]"), b"abcd"), ["18446744073709551616"]),
    "st-size-as-text": (safetensors(one(shape='["1"]'), b"abcd"), ["a string where an integer"]),
    "st-negative-offset": (safetensors(one(offsets="[-4,0]"), b"abcd"), ["the number -4"]),
    "st-one-offset": (safetensors(one(offsets="[4]"), b"abcd"), ["one offset"]),
    "st-three-offsets": (safetensors(one(offsets="[0,4,8]"), b"abcd"), ["a third offset"]),
    "st-no-dtype": (safetensors('{"x":{"shape":[1],"data_offsets":[0,4]}}', b"abcd"), ["lacks one of dtype"]),
    "st-unknown-field": (safetensors('{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1]}}', b"abcd"),
                         ["unknown field", "strides"]),
    "st-null": (safetensors('{"x":null}'), ["null where the object"]),
    "st-unknown-dtype": (safetensors(one('"F33"'), b"abcd"), ['unknown dtype "F33"']),
    "st-quantised": (safetensors(one('"F8_E4M3"', "[4]"), b"abcd"), ["F8_E4M3", "not supported", "quantised"]),
    "st-complex": (safetensors(one('"C64"', "[1]", "[0,8]"), b"abcdefgh"), ["complex64", "not supported"]),
    "st-half-a-byte": (safetensors(one('"F4"', "[3]", "[0,1]"), b"a"), ["not a whole number of bytes"]),
    "st-shape-overflows": (safetensors(one(shape="[4294967296,4294967296]"), b"abcd"), ["too large to count"]),
    "st-bits-overflow": (safetensors(one('"F64"', "[1152921504606846976]"), b"abcd"), ["too large to count"]),
    "st-overflow-behind-zero": (safetensors(one(shape="[0,4294967296,4294967296]", offsets="[0,0]")), ["too large to count"]),
    "st-dimensions": (safetensors(one(shape="[" + "1," * 64 + "1]"), b"abcd"), ["more than 64 dimensions"]),
    "st-wrong-size": (safetensors(one(shape="[2]"), b"abcd"), ["needs 8 bytes", "give it 4"]),
    "st-backwards": (safetensors(one(offsets="[4,0]"), b"abcd"), ["end before they begin"]),
    "st-terabytes": (safetensors(one('"U8"', "[1099511627776]", "[0,1099511627776]"), b"abcd"), ["cut short", "1099511627776"]),
    "st-offset-overflow": (safetensors(one('"U8"', "[1]", "[9223372036854775806,9223372036854775807]"), b"a"), ["hole"]),
    "st-first-not-at-0": (safetensors(two([1, 2], [2, 3]), b"abc"), ["hole"]),
    "st-hole": (safetensors(two([0, 1], [2, 3]), b"abc"), ["/y", "hole"]),
    "st-overlap": (safetensors(two([0, 2], [1, 3]), b"abc"), ["/y", "overlap"]),
    "st-shared": (safetensors(two([0, 2], [0, 2]), b"ab"), ["overlap"]),
    "st-tail": (safetensors(one(), b"abcde"), ["1 bytes after the last tensor"]),
    "st-no-name": (safetensors(one(name='""'), b"abcd"), ["without a name"]),
    "st-name-with-nul": (safetensors(one(name='"a\\u0000b"'), b"abcd"), ["NUL character"]),
    "st-long-name": (safetensors(one(name='"' + "x" * 4097 + '"'), b"abcd"), ["4097 bytes"]),
    "st-escape-sequence": (safetensors(one('"\\u001b[31m\\n"', name='"\\u001b]0;x\\n"'), b"abcd"), ["\\x1b]0;x\\n"]),
    "st-bool-2": (safetensors(one('"BOOL"', "[1]", "[0,1]"), b"\2"), ["a bool of value 2"]),
    "st-uint64": (safetensors(one('"U64"', "[1]", "[0,8]"), b"\xff" * 8), ["18446744073709551615"]),
    # Marian's
    "marian-version-only": (marian()[:8], ["the header's numbers", "truncated"]),
    "marian-no-heads": (marian()[:16], ["1 arrays in 16 bytes"]),
    "marian-arrays-many": (marian(count=2**63), ["9223372036854775808 arrays"]),
    "marian-arrays-more": (marian(count=2), ["the headers of arrays", "truncated"]),
    "marian-arrays-none": (marian(count=0), ["behind the values"]),
    "marian-name-long": (marian(name_size=2**63), ["a name of 9223372036854775808 bytes"]),
    "marian-name-cut": (marian(name_size=4000), ["the names of arrays", "truncated"]),
    "marian-name-empty": (marian(name=b"\0"), ["a name of 1 bytes"]),
    "marian-name-open": (marian(name=b"xy"), ["no text ended by NUL"]),
    "marian-name-in-two": (marian(name=b"x\0y\0"), ["no text ended by NUL"]),
    "marian-name-no-utf8": (marian(name=b"\xff\0"), ["\\xff", "no text"]),
    "marian-escape-sequence": (marian(name=b"\x1b[31m\0", kind=1), ["\\x1b[31m"]),
    "marian-dimensions": (marian(dimensions=65), ["65 dimensions"]),
    "marian-dimensions-cut": (marian(dimensions=64), ["the arrays' shapes", "truncated"]),
    "marian-negative": (marian(shape=(-1,)), ["a dimension of -1"]),
    "marian-shape-overflows": (marian(shape=(2**31 - 1,) * 3), ["4 bytes for the shape"]),
    "marian-overflow-behind-zero": (marian(shape=(0,) + (2**31 - 1,) * 3), ["4 bytes for the shape"]),
    "marian-short": (marian(shape=(2,)), ["4 bytes for the shape"]),
    "marian-values-cut": (marian(size=5), ["the values", "truncated"]),
    "marian-values-huge": (marian(size=2**64 - 1), ["the values", "truncated"]),
    "marian-padding-huge": (marian(padding=2**64 - 1), ["before the values", "truncated"]),
    "marian-padding-long": (marian(padding=1), ["the values", "truncated"]),
    "marian-tail": (marian() + b"e", ["1 bytes behind the values"]),
    "marian-type-unknown": (marian(kind=0x403), ["1027", "marian-conv"]),
    "marian-packed": (marian(kind=0x5101), ["20737", "packed for one kind of processor"]),
    "marian-fbgemm": (marian(kind=0x1802), ["packed for one kind of processor"]),
    "marian-float-integers": (marian(kind=0x4404), ["packed for one kind of processor"]),
    "marian-no-factor": (marian(kind=0x4101), ["4 bytes for the shape"]),
    "marian-factor-0": (marian(kind=0x4101, values=bytes(5)), ["the factor 0"]),
    "marian-factor-nan": (marian(kind=0x4101, values=b"a\0\0\xc0\x7f"), ["the factor nan"]),
    "marian-factor-negative": (marian(kind=0x4101, values=b"a" + struct.pack("<f", -1)), ["the factor -1"]),
    "marian-factor-infinite": (marian(kind=0x4101, values=b"a" + struct.pack("<f", math.inf)), ["the factor inf"]),
    # .npy
    "npy-magic-only": (b"\x93NUMPY", ["too short"]),
    "npy-version-9": (npy(version=(9, 0)), ["version 9.0"]),
    "npy-version-1-1": (npy(version=(1, 1)), ["version 1.1"]),
    "npy-header-beyond-file": (npy(length=60_000), ["cut short", "60000"]),
    "npy-header-huge": (npy(version=(2, 0), length=2**32 - 1), ["4294967295"]),
    "npy-header-long": (npy(version=(2, 0), header="{" + " " * 70_000 + "}"), ["at most 65536"]),
    "npy-no-dictionary": (npy(header="__import__('os')"), ["where '{' was wanted"]),
    "npy-code": (npy(order="exit()"), ["True or False"]),
    "npy-key-twice": (npy(header="{'descr':'|u1','descr':'|u1','fortran_order':False,'shape':(3,)}"), ["descr twice"]),
    "npy-key-unknown": (npy(header="{'descr':'|u1','fortran_order':False,'shape':(3,),'x':1}"), ["unknown entry", "x"]),
    "npy-key-missing": (npy(header="{'descr':'|u1','shape':(3,)}"), ["lacks one of"]),
    "npy-more-behind": (npy(header="{'descr':'|u1','fortran_order':False,'shape':(3,)}()"), ["nothing more"]),
    "npy-nul-behind": (npy(header="{'descr':'|u1','fortran_order':False,'shape':(3,)}\0"), ["nothing more"]),
    "npy-unfinished": (npy(header="{'descr':'|u1','fortran_order':False,'shape':(3,"), ["a size"]),
    "npy-unfinished-text": (npy(header="{'descr"), ["a string"]),
    "npy-negative": (npy(shape="(-3,)"), ["a size"]),
    "npy-fraction": (npy(shape="(3.0,)"), ["',' was wanted"]),
    "npy-size-overflow": (npy(shape="(99999999999999999999,)"), ["a size"]),
    "npy-shape-overflow": (npy(shape="(4294967296, 4294967296)"), ["too large to count"]),
    "npy-dimensions": (npy(shape="(" + "1," * 65 + ")"), ["more than 64 dimensions"]),
    "npy-objects": (npy("'|O'", values=b"\x80\x04cos\nsystem\n"), ["Python objects"]),
    "npy-record": (npy("[('a', '<f4')]"), ["structured"]),
    "npy-bytes": (npy("'|S3'", shape="(1,)"), ["S3", "not supported"]),
    "npy-date": (npy("'<M8[ns]'"), ["M8[ns]", "not supported"]),
    "npy-complex": (npy("'<c8'", shape="(1,)", values=bytes(8)), ["complex64", "not supported"]),
    "npy-text-width": (npy("'<U99999999999'", shape="(1,)"), ["at most"]),
    "npy-text-width-0": (npy("'<U0'", shape="(1099511627776,)", values=b""), ["<U0", "at least 1 character"]),
    "npy-text-width-0-big-endian": (npy("'>U00'", shape="(1,)", values=b""), [">U00", "at least 1 character"]),
    "npy-bytes-width-0": (npy("'|S0'", shape="(1099511627776,)", values=b""), ["S0", "not supported"]),
    "npy-void-width-0": (npy("'|V0'", shape="(1099511627776,)", values=b""), ["V0", "not supported"]),
    "npy-no-character": (npy("'<U1'", shape="(1,)", values=b"\0\xd8\0\0"), ["not a character"]),
    "npy-no-order": (npy("'x4'"), ["unknown type"]),
    "npy-terabytes": (npy(shape="(1099511627776,)"), ["1099511627776 bytes", "3 follow"]),
    "npy-short": (npy(values=b"ab"), ["needs 3 bytes", "2 follow"]),
    "npy-tail": (npy(values=b"abcd"), ["needs 3 bytes", "4 follow"]),
    # .npz
    "zip-no-end": (archive(Member(GOOD))[:-1], ["without an end record"]),
    "zip-end-only": (archive(), ["without .npy"]),
    "zip-first-half": (archive(Member(GOOD))[:60], ["without an end record"]),
    "zip-comment-lies": (archive(Member(GOOD), comment=b"abc")[:-1], ["without an end record"]),
    "zip-disks": (archive(Member(GOOD), disk=1), ["several disks"]),
    "zip-entries-more": (archive(Member(GOOD), entries=2), ["cut short"]),
    "zip-entries-fewer": (archive(Member(GOOD), Member(GOOD, b"y.npy"), entries=1), ["more than its 1 members"]),
    "zip-directory-huge": (archive(Member(GOOD), directory_size=2**32 - 2), ["does not end at its end record"]),
    "zip-directory-moved": (archive(Member(GOOD), directory_at=3), ["does not end at its end record"]),
    "zip-prefix": (b"PK\3\4" + archive(Member(GOOD)), ["does not end at its end record"]),
    "zip64-no-locator": (archive(Member(GOOD), entries=0xffff), ["zip64", "locator"]),
    "zip64-end-beyond": (archive(Member(GOOD), entries=0xffff,
                                 before_end=b"PK\6\7" + struct.pack("<IQI", 0, 2**63, 1)), ["zip64 end record"]),
    "zip64-field-short": (archive(Member(GOOD, size=0xffffffff, central_extra=struct.pack("<HHI", 1, 4, 0))), ["cut short"]),
    "zip64-size-huge": (archive(Member(GOOD, size=0xffffffff, central_extra=struct.pack("<HHQ", 1, 8, 2**63))),
                        ["disagree"]),
    "zip-encrypted": (archive(Member(GOOD, flags=1)), ["encrypted"]),
    "zip-method-9": (archive(Member(GOOD, method=9)), ["method 9"]),
    "zip-other-method": (archive(Member(GOOD, local_method=8)), ["disagree"]),
    "zip-other-name": (archive(Member(GOOD, local_name=b"y.npy")), ["disagree"]),
    "zip-other-size": (archive(Member(GOOD, local_size=5)), ["disagree", "size"]),
    "zip-other-crc": (archive(Member(GOOD, local_crc=5)), ["disagree"]),
    "zip-stored-lies": (archive(Member(GOOD, size=9_999)), ["stored", "9999"]),
    "zip-crc": (archive(Member(GOOD, crc=1)), ["CRC-32"]),
    "zip-crc-deflated": (archive(Member(GOOD, method=8, crc=1)), ["CRC-32"]),
    "zip-flipped-bit": (archive(Member(GOOD, packed=GOOD[:-1] + b"d")), ["CRC-32"]),
    "zip-not-deflate": (archive(Member(GOOD, method=8, packed=b"\xff" * 40, packed_size=40)), ["deflated bytes are damaged"]),
    "zip-bomb": (archive(Member(MEGABYTES, method=8, size=4_000_000_000)), ["more than deflate can"]),
    "zip-unpacks-to-more": (archive(Member(GOOD + bytes(9), method=8, size=len(GOOD), crc=zlib.crc32(GOOD))), ["more than"]),
    "zip-unpacks-to-fewer": (archive(Member(npy(shape="(300,)", values=bytes(300)), method=8, size=600)), ["needs 300 bytes"]),
    "zip-ends-early": (archive(Member(npy(shape="(300,)", values=bytes(100)), method=8,
                                      size=len(npy(shape="(300,)", values=bytes(300))))), ["fewer than"]),
    "zip-two-names": (archive(Member(GOOD), Member(GOOD)), ["two members", "x.npy"]),
    "zip-name-not-utf-8": (archive(Member(GOOD, b"\xff.npy")), ["not UTF-8"]),
    "zip-overlap": (archive(Member(GOOD), Member(GOOD, b"x.npz", offset=0)), ["disagree"]),
    "zip-member-beyond": (archive(Member(GOOD, offset=90_000)), ["beyond the archive"]),
    "zip-bytes-beyond": (archive(Member(GOOD, packed_size=9_000, size=9_000)), ["beyond the archive"]),
    "zip-no-npy": (archive(Member(b"abc", b"archive/data.pkl")), ["PyTorch"]),
    "zip-not-npy": (archive(Member(b"abcdefghijklmnop")), ["not a NumPy array"]),
    "zip-objects": (archive(Member(npy("'|O'"))), ["Python objects"]),
    "zip-directory-damaged": (archive(Member(GOOD)).replace(b"PK\1\2", b"PK\1\3"), ["directory is damaged"]),
}


def overlapping():
    """Two members that share their bytes: the second begins within the first."""
    inner = archive(Member(GOOD, b"y.npy"))
    inner = inner[:inner.index(b"PK\1\2")]
    outer = Member(inner)
    return archive(outer, Member(GOOD, b"y.npy", offset=30 + len(outer.name)))


def png_chunk(name, data, crc=None):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data) if crc is None else crc)


def png(columns=3, rows=2, depth=8, kind=2, interlace=0, values=None, packed=None, before=b"", end=True, **crcs):
    """`values`: what is deflated, a filter byte before each row."""
    header = struct.pack(">IIBBBBB", columns, rows, depth, kind, 0, 0, interlace)
    packed = zlib.compress((b"\0" + b"abcdefghi") * 2 if values is None else values) if packed is None else packed
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header, crcs.get("header_crc")) + before
            + png_chunk(b"IDAT", packed, crcs.get("data_crc")) + (png_chunk(b"IEND", b"") if end else b""))


def image(name):
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/../../testdata/images/{name}", "rb") as file:
        return file.read()


JPEG, PROGRESSIVE = image("photo.jpg"), image("progressive.jpg")


def jpeg_frame(data, rows, columns):
    """Another size in the frame header."""
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", rows, columns) + data[at + 4:]


def with_scans(count):
    """So many scans of one coefficient each, all zero: short, but each costs the time of the whole picture."""
    first = PROGRESSIVE.index(b"\xff\xda")
    base = PROGRESSIVE[:PROGRESSIVE.index(b"\xff\xc4", first)]
    code = b"\xff\xc4" + struct.pack(">HB16B", 20, 0x10, 1, *[0] * 15) + b"\0"  # one bit: the rest of a block is zero
    scans = [b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, component, 0, k, k, 0) + data
             for component, data in ((1, b"\0\x7f"), (2, b"\x0f"), (3, b"\x0f")) for k in range(1, 64)]
    return base + code + b"".join(scans[:count]) + b"\xff\xd9"


def exif(directory=8, entries=1, tag=0x0112, kind=3, turn=6, order=b"II*\0", more=b""):
    """One entry, in bytes of Exif."""
    end = "<" if order[:1] == b"I" else ">"
    return order + struct.pack(end + "IHHHIHHI", directory, entries, tag, kind, 1, turn, 0, 0) + more


def with_exif(data):
    return JPEG[:2] + b"\xff\xe1" + struct.pack(">H", len(data) + 8) + b"Exif\0\0" + data + JPEG[2:]


HOSTILE.update({
    "exif-no-header": (with_exif(exif(order=b"IM*\0")), ["damaged picture", "TIFF header", "without Exif"]),
    "exif-directory-behind": (with_exif(exif(directory=2**32 - 1)), ["damaged picture", "cut short"]),
    "exif-entries-behind": (with_exif(exif(entries=65535, tag=1)), ["damaged picture", "cut short"]),
    "exif-of-png-behind": (png(before=png_chunk(b"eXIf", exif(directory=27))), ["damaged picture", "cut short"]),
    "png-magic-only": (b"\x89PNG\r\n\x1a\n", ["damaged picture"]),
    "png-header-only": (png()[:33], ["damaged picture"]),
    "png-first-half": (png()[:60], ["damaged picture"]),
    "png-data-short": (png(values=b"\0abcdefghi"), ["damaged picture"]),
    "png-header-crc": (png(header_crc=1), ["damaged picture", "CRC"]),
    "png-data-crc": (png(data_crc=1), ["damaged picture", "CRC"]),
    "png-not-deflate": (png(packed=b"\xff" * 40), ["damaged picture"]),
    "png-zero-wide": (png(columns=0), ["damaged picture"]),
    "png-beyond-31-bits": (png(columns=2**31 + 1), ["damaged picture"]),
    "png-bomb": (png(8000, 8000), ["cannot be in"]),
    "png-terabytes": (png(900_000, 900_000), ["wanted at most 67108864 pixels"]),
    "png-depth-3": (png(depth=3), ["damaged picture"]),
    "png-kind-5": (png(kind=5), ["damaged picture"]),
    "png-no-palette": (png(kind=3, values=b"\0abc" * 2), ["damaged picture"]),
    "png-interlace-9": (png(interlace=9), ["damaged picture"]),
    "png-filter-9": (png(values=b"\x09abcdefghi" * 2), ["damaged picture"]),
    "png-critical-chunk": (png(before=png_chunk(b"ABCD", b"")), ["damaged picture"]),
    "png-transparent": (image("transparent.png"), ["transparent", "background"]),
    "png-transparent-color": (png(before=png_chunk(b"tRNS", struct.pack(">HHH", 97, 98, 99))), ["transparent"]),
    "jpeg-magic-only": (b"\xff\xd8\xff", ["damaged picture"]),
    "jpeg-headers-only": (JPEG[:JPEG.index(b"\xff\xda")], ["damaged picture"]),
    "jpeg-first-half": (JPEG[:len(JPEG) // 2], ["damaged picture"]),
    "jpeg-last-bytes": (JPEG[:-40], ["damaged picture"]),
    "jpeg-progressive-half": (PROGRESSIVE[:len(PROGRESSIVE) // 2], ["damaged picture"]),
    "jpeg-bomb": (jpeg_frame(JPEG, 8000, 8000), ["cannot be in"]),
    "jpeg-gigapixels": (jpeg_frame(JPEG, 60_000, 60_000), ["wanted at most 67108864 pixels"]),
    "jpeg-zero-wide": (jpeg_frame(JPEG, 17, 0), ["damaged picture"]),
    "jpeg-larger": (jpeg_frame(JPEG, 90, 90), ["damaged picture"]),
    "jpeg-print-colors": (image("cmyk.jpg"), ["CMYK"]),
    "jpeg-many-scans": (with_scans(180), ["more than 100 scans"]),
    "jpeg-frame-length": (JPEG.replace(b"\xff\xc0\x00\x11", b"\xff\xc0\x00\x12"), ["damaged picture"]),
})
HOSTILE["zip-shared-bytes"] = (overlapping(), ["overlaps"])

# What those are made from, lest they be refused for another reason than their own.
SOUND = {
    "png": png(), "png-grey": png(kind=0, values=b"\0abc" * 2), "png-interlaced": png(1, 1, interlace=1, values=b"\0abc"),
    "png-unknown-chunk": png(before=png_chunk(b"abCd", b"x")), "jpeg": JPEG, "jpeg-progressive": PROGRESSIVE,
    "exif": with_exif(exif()), "exif-big-endian": with_exif(exif(order=b"MM\0*")), "exif-turn-99": with_exif(exif(turn=99)),
    "exif-of-png": png(before=png_chunk(b"eXIf", exif())), "jpeg-more-behind": JPEG + b"more", "jpeg-some-scans": with_scans(90),
    "st": safetensors(one(), b"abcd"), "st-padded": safetensors(one() + "   ", b"abcd"), "st-none": safetensors("{}  "),
    "st-two": safetensors(two([0, 1], [1, 3]), b"abc"), "st-swapped": safetensors(two([1, 3], [0, 1]), b"abc"),
    "st-long-name": safetensors(one(name='"' + "x" * 4096 + '"'), b"abcd"),
    "marian": marian(), "marian-padded": marian(values=b"abcdefgh", padding=0), "marian-none": marian(shape=(0, 2**31 - 1)),
    "marian-integers": marian(kind=0x4101, values=b"a" + struct.pack("<f", 9)), "marian-scalar": marian(shape=()),
    "npy": GOOD, "npy-2": npy(version=(2, 0)), "npy-3": npy(version=(3, 0)),
    "zip": archive(Member(GOOD)), "zip-deflated": archive(Member(GOOD, method=8)), "zip-two": archive(Member(GOOD), Member(GOOD, b"y.npy")),
    "zip-comment": archive(Member(GOOD), comment=b"abc PK\5\6"),
    "npy-no-texts": npy("'<U0'", shape="(0,)", values=b""),
    "zip-other-members": archive(Member(GOOD), Member(b"abc", b"key", flags=1), Member(b"abc", b"notes.xz", method=95)),
    "zip-with-pickle": archive(Member(GOOD), Member(b"abc", b"notes/data.pkl")),
    "zip64": archive(Member(GOOD, size=0xffffffff, local_size=len(GOOD),
                            central_extra=struct.pack("<HHQ", 1, 8, len(GOOD)))),
    "zip-sizes-follow": archive(Member(GOOD, flags=8, local_crc=0, local_size=0, local_packed_size=0)),
    "zip-large": archive(Member(MEGABYTES, method=8)),
}


class Hostile(TensorsTest):
    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_every_hostile_file(self):
        self.assertGreater(len(HOSTILE), 100)
        for name, (data, words) in HOSTILE.items():
            with self.subTest(case=name):
                path = self.write(name, data)
                start = time.monotonic()
                child = subprocess.Popen([self.program, "drain", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                with child.stdout, child.stderr:
                    message = child.stderr.read().decode()
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(child.returncode, 1, message)
                self.assertEqual(message.count("\n"), 1, message)
                self.assertIn(name, message)
                for word in words:
                    self.assertIn(word, message)
                self.assertNotIn("\x1b", message)
                self.assertLess(time.monotonic() - start, 10)
                if not SANITIZED:
                    self.assertLess(usage.ru_maxrss, MEMORY, message)
                print(f"\nok {name}")  # for the table of scripts/torture rows

    def test_what_the_cases_are_made_from_is_read(self):
        for name, data in SOUND.items():
            with self.subTest(case=name):
                self.assertIn(b"1 frames", self.tensors("drain", self.write(name, data)))


if __name__ == "__main__":
    main()
