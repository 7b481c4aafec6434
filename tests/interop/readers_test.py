"""Files written by lib/io open elsewhere: h5py, xarray (both engines) and ncdump see names, values and dimensions."""
import io
import struct
import subprocess

from support import TensorsTest, main, require, text

h5py, xarray, numpy, h5netcdf, netCDF4 = require("h5py", "xarray", "numpy", "h5netcdf", "netCDF4")


def ramp(*shape):
    return (numpy.arange(numpy.prod(shape), dtype="f4") + 0.5).reshape(shape)


MASK = (1 << 64) - 1


def checksum(strings):
    """What lib/io/README.md says of the attribute `checksum`."""
    total = 0
    for place, string in numpy.ndenumerate(strings):
        hashed = 14695981039346656037
        for value in (*place, *string):
            hashed = (hashed ^ value) * 1099511628211 & MASK
        for factor in 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 1:
            hashed = (hashed ^ hashed >> 33) * factor & MASK
        total += hashed if string else 0
    return total & MASK


def split_frames(stream):
    """A stream is a row of HDF5 files; bytes 28 to 35 of each are its length."""
    at = 0
    while at < len(stream):
        length = struct.unpack_from("<Q", stream, at + 28)[0]
        yield h5py.File(io.BytesIO(stream[at:at + length]), "r")
        at += length


class Readers(TensorsTest):
    def sample(self, *arguments):
        path = self.path("sample.h5")
        self.tensors("sample", path, *arguments)
        return path

    def check_weights(self, weights):
        self.assertEqual(weights.shape, (9, 3, 2, 19, 18))
        numpy.testing.assert_array_equal(weights[:4, :, :, :6, :5], ramp(4, 3, 2, 6, 5))
        numpy.testing.assert_array_equal(weights[4:6], ramp(2, 3, 2, 19, 18))
        numpy.testing.assert_array_equal(weights[6:, :, :, :2, :1], ramp(3, 3, 2, 2, 1))
        self.assertFalse(weights[:4, :, :, 6:].any() or weights[:4, ..., 5:].any() or weights[6:, ..., 1:].any())

    def test_many_chunks_of_a_few_bytes_are_read_in_time(self):
        """HDF5 scans all chunks to find one, so that is not for these; the process that reads has some 3 s."""
        path = self.path("chunks.h5")
        values = ramp(4096, 1)
        with h5py.File(path, "w", libver="v110") as f:
            for i in range(30):
                f.create_dataset(f"x{i}", data=values, chunks=(1, 1), fletcher32=True)
        with open(path, "rb") as file:
            piped = self.tensors("copy", "-", "-", input=file.read())
        for image in piped, self.tensors("copy", path, "-"):
            with h5py.File(io.BytesIO(image), "r") as f:
                self.assertEqual(len(f), 30)
                numpy.testing.assert_array_equal(f["x29"][()], values)

    def test_h5py_sees_nexus_groups_and_scales(self):
        with h5py.File(self.sample(), "r") as f:
            self.assertEqual(text(f, "default"), "attention")
            self.assertEqual(text(f, "NX_class"), "NXroot")
            self.assertEqual(text(f, "history"), "tensors sample")
            group = f["attention"]
            self.assertEqual(text(group, "NX_class"), "NXdata")
            self.assertEqual(text(group, "signal"), "weights")
            self.assertEqual(text(group, "axes"), ["sentence", "layer", "head", "query", "key"])
            self.assertEqual(group["title"][()].decode(), "Attention")
            weights = group["weights"]
            self.check_weights(weights[()])
            self.assertTrue(weights.fletcher32)
            self.assertEqual(weights.fillvalue, 0)
            for axis, name in enumerate(text(group, "axes")):
                self.assertEqual(weights.dims[axis].label, name)
                scale = weights.dims[axis][0]
                self.assertEqual(scale.name, "/attention/" + name)
                self.assertEqual(scale.dtype, "int32")
                numpy.testing.assert_array_equal(scale[()], numpy.arange(weights.shape[axis]))
            self.assertEqual(f["tokens/text"][1].decode(), "phrase d'\u00e9t\u00e9 1")
            self.assertEqual(text(f["encoder/mask"], "dtype"), "bool")

    def test_strings_have_a_checksum(self):
        with h5py.File(self.sample(), "r") as f:
            for name in "tokens/text", "attention/query_token", "attention/key_token":
                self.assertEqual(checksum(f[name][()]), int(f[name].attrs["checksum"]) & MASK, name)
        # Changes that cancelled in a sum of plain FNV-1a.
        row = [b""] * 5 + [b"c", b"t", b"r", b"e"]
        self.assertNotEqual(checksum(numpy.array([[b""] * 9, [b""] * 9, row])),
                            checksum(numpy.array([[b""] * 9, [b""] * 9, [b""] * 5 + [b"a"] * 4])))

    def test_xarray_sees_named_dimensions(self):
        path = self.sample()
        for engine in "h5netcdf", "netcdf4":
            with self.subTest(engine=engine), xarray.open_dataset(path, group="attention", engine=engine) as data:
                self.assertEqual(data["weights"].dims, ("sentence", "layer", "head", "query", "key"))
                self.check_weights(data["weights"].values)
                self.assertEqual(data["query_token"].dims, ("sentence", "query"))
                self.assertIn("key_token", data.coords)
                self.assertEqual(str(data["key_token"].values[1, 4]), "k9")
                self.assertEqual(data["weights"].attrs["long_name"], "attention weights")
            with xarray.open_dataset(path, group="encoder", engine=engine) as data:
                self.assertEqual(data["mask"].dtype, bool)
                self.assertEqual(data["mask"].values.sum(), 4 * 5 + 2 * 18 + 3 * 1)

    def test_ncdump_prints_it(self):
        done = subprocess.run(["ncdump", "-v", "tokens/length,attention/key_token", self.sample()], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("length = 5, 5, 5, 5, 18, 18, 1, 1, 1 ;", " ".join(done.stdout.split()))
        self.assertIn("float weights(sentence, layer, head, query, key) ;", done.stdout)

    def test_files_without_scales_keep_their_labels(self):
        path = self.sample("no-scales")
        with h5py.File(path, "r") as f:
            self.assertNotIn("DIMENSION_LIST", f["attention/weights"].attrs)
            self.assertNotIn("REFERENCE_LIST", f["attention/query"].attrs)
            numpy.testing.assert_array_equal(f["attention/query"][()], numpy.arange(19))
            self.assertEqual([d.label for d in f["attention/weights"].dims], ["sentence", "layer", "head", "query", "key"])
        self.tensors("copy", path, self.path("with.h5"))
        with h5py.File(self.path("with.h5"), "r") as f:
            self.check_weights(f["attention/weights"][()])

    def test_a_model_file_is_plain(self):
        path = self.path("model.h5")
        self.tensors("model", path)
        with h5py.File(path, "r") as f:
            self.assertEqual(set(f["model/parameters/encoder/layer_0"]), {"weight", "bias"})
            numpy.testing.assert_array_equal(f["model/parameters/encoder/layer_0/weight"][()], ramp(5, 4))
            weight = f["model/parameters/encoder/layer_0/weight"]
            self.assertEqual([dim.label for dim in weight.dims], ["out", "in"])
            self.assertEqual([dim[0].name for dim in weight.dims], ["/model/parameters/out_5", "/model/parameters/in_4"])
            self.assertNotIn("NX_class", f["model"].attrs)
            self.assertEqual(f["model/vocabulary/piece"].shape, (700,))

    def test_a_stream_is_a_row_of_files(self):
        frames = list(split_frames(self.tensors("sample", "-")))
        self.assertEqual(len(frames), 4)
        self.assertEqual([f.attrs.get("stream_end", 0) for f in frames], [0, 0, 0, 1])
        self.assertEqual(len(frames[3]), 0)
        numpy.testing.assert_array_equal(frames[1]["encoder/states"][()], ramp(2, 1, 18, 6))

    def test_redirected_output_is_one_file(self):
        with open(self.path("redirected.h5"), "wb") as file:
            self.assertEqual(subprocess.run([self.program, "sample", "-"], stdout=file).returncode, 0)
        with open(self.sample(), "rb") as one, open(self.path("redirected.h5"), "rb") as other:
            self.assertEqual(one.read(), other.read())


if __name__ == "__main__":
    main()
