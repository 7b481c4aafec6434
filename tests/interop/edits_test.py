"""Files made or edited by other programs come in: h5py, xarray, pipes of foreign files, other element types."""
import io
import os

from support import TensorsTest, main, require, text

h5py, xarray, numpy, h5netcdf = require("h5py", "xarray", "numpy", "h5netcdf")


class Edits(TensorsTest):
    def copied(self, path):
        """What lib/io understood of the file, written again by it."""
        self.tensors("copy", path, self.path("copy.h5"))
        return h5py.File(self.path("copy.h5"), "r")

    def test_values_changed_in_place(self):
        path = self.path("sample.h5")
        self.tensors("sample", path)
        with h5py.File(path, "a") as f:
            f["attention/weights"][4, 2, 1, 3, :] = 0.25
            f["attention/weights"].attrs["note"] = "ablated"
        with self.copied(path) as f:
            self.assertTrue((f["attention/weights"][4, 2, 1, 3, :] == 0.25).all())
            self.assertEqual(text(f["attention/weights"], "note"), "ablated")
            self.assertEqual(f["attention/weights"][5, 0, 0, 0, 0], 3 * 2 * 19 * 18 + 0.5)
            self.assertEqual(text(f["attention"], "signal"), "weights")

    def test_a_replaced_signal_takes_its_dimensions_from_the_axes(self):
        path = self.path("sample.h5")
        self.tensors("sample", path)
        with h5py.File(path, "a") as f:
            values = f["encoder/states"][()] * 2
            del f["encoder/states"]
            f["encoder/states"] = values
        with self.copied(path) as f:
            self.assertEqual([d.label for d in f["encoder/states"].dims], ["sentence", "layer", "position", "dim"])
            numpy.testing.assert_array_equal(f["encoder/states"][()], values)

    def test_a_dataset_of_xarray(self):
        data = xarray.Dataset({"states": (("sentence", "position", "dim"), numpy.ones((5, 2, 3), "f4"))})
        data.to_netcdf(self.path("x.nc"), engine="h5netcdf", group="encoder")
        with self.copied(self.path("x.nc")) as f:
            self.assertEqual([d.label for d in f["encoder/states"].dims], ["sentence", "position", "dim"])

    def test_filters_in_any_order(self):
        values = numpy.arange(4000, dtype="f4").reshape(40, 100)
        path = self.path("filtered.h5")
        with h5py.File(path, "w") as f:
            for first in "set_fletcher32", "set_deflate":
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_chunk((7, 100))
                for name in sorted(("set_fletcher32", "set_deflate"), key=lambda n: n != first):
                    getattr(plist, name)()
                space, kind = h5py.h5s.create_simple(values.shape), h5py.h5t.IEEE_F32LE
                h5py.Dataset(h5py.h5d.create(f.id, first.encode(), kind, space, dcpl=plist))[...] = values
        with self.copied(path) as f:
            for name in "set_fletcher32", "set_deflate":
                numpy.testing.assert_array_equal(f[name][()], values)

    def test_a_dataset_of_several_names(self):
        values = numpy.arange(3000, dtype="f4").reshape(30, 100)
        path = self.path("names.h5")
        with h5py.File(path, "w", libver="v110") as f:
            f.create_dataset("first", data=values, chunks=(10, 100), fletcher32=True)
            f["second"] = f["third"] = f["first"]  # together more than the file, and no reason to refuse it
        self.assertLess(os.path.getsize(path), 2 * values.nbytes)
        self.tensors("whole", path, self.path("copy.h5"))
        with h5py.File(self.path("copy.h5"), "r") as f:
            for name in "first", "second", "third":
                numpy.testing.assert_array_equal(f[name][()], values)

    def test_element_types(self):
        values = numpy.array([[0, 1, 1], [1, 0, 100]])
        path = self.path("types.h5")
        with h5py.File(path, "w") as f:
            for dtype in "<f2", "<f4", ">f4", "<f8", ">f8", "i1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "u1":
                f[dtype] = values.astype(dtype)
            f["bool"] = values == 1
            f["fixed"] = numpy.array([b"ab", b"c"])
            f["vlen"] = ["d\u00e9", ""]
            f["scalar"] = 2.5
        wanted = {"f2": "f4", "i1": "i4", "i2": "i4", "u2": "i4", "u4": "i8", "u1": "u1"}
        with self.copied(path) as f:
            for dtype in "<f2", "<f4", ">f4", "<f8", ">f8", "i1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "u1":
                with self.subTest(dtype=dtype):
                    kind = dtype.strip("<>")
                    self.assertEqual(f[dtype].dtype, numpy.dtype(wanted.get(kind, kind)))
                    numpy.testing.assert_array_equal(f[dtype][()], values)
            numpy.testing.assert_array_equal(f["bool"][()], values == 1)
            self.assertEqual(text(f["bool"], "dtype"), "bool")
            self.assertEqual(list(f["fixed"].asstr()), ["ab", "c"])
            self.assertEqual(list(f["vlen"].asstr()), ["d\u00e9", ""])
            self.assertEqual(f["scalar"][()], 2.5)

    def test_foreign_files_in_a_pipe(self):
        for libver in "earliest", "v110", "latest":
            with self.subTest(libver=libver):
                buffer = io.BytesIO()
                with h5py.File(buffer, "w", libver=libver) as f:
                    f["query"] = numpy.arange(6, dtype="f4").reshape(2, 3)
                stream = self.tensors("copy", "-", "-", input=buffer.getvalue())
                with h5py.File(io.BytesIO(stream), "r") as f:
                    self.assertEqual(f["query"].shape, (2, 3))
                message = self.refused("copy", "-", "-", input=buffer.getvalue() + b"more")
                self.assertIn("extra bytes after the end", message)

    def test_stdin_from_a_file_and_from_a_pipe_agree(self):
        path = self.path("sample.h5")
        self.tensors("sample", path)
        with open(path, "rb") as file:
            from_file = self.tensors("copy", "-", "-", stdin=file)
        with open(path, "rb") as file:
            self.assertEqual(self.tensors("copy", "-", "-", input=file.read()), from_file)
        self.assertEqual(self.tensors("copy", path, "-"), from_file)


if __name__ == "__main__":
    main()
