"""The files of make-files as viewers see them: h5py, xarray with both engines, ncdump and silx's NXdata parser; and what
script can check of HDFView's and ViTables' rules.

usage: viewers_test.py FOLDER [SILX]     # SILX: where Debian's silx is unpacked, when it is not installed
"""
import json
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
from support import require  # noqa: E402

h5py, xarray, numpy, tables, _, netCDF4 = require("h5py", "xarray", "numpy", "tables", "h5netcdf", "netCDF4")
FILES = sorted(Path(sys.argv[1]).glob("*.h5"))
if len(sys.argv) > 2:
    sys.path.append(sys.argv[2])
try:
    from silx.io import nxdata
except ImportError:
    nxdata = None

# What a viewer shows first: the kind of picture, its title, and the names of what runs along its two sides, or its x axis.
VIEWS = json.loads((Path(__file__).parent / "views.json").read_text())
STRINGS_ONLY = {"vocabulary"}  # nothing to plot


def plots(file):
    """All NXdata groups."""
    found = []
    file.visititems(lambda _, item: found.append(item) if text(item, "NX_class") == "NXdata" else None)
    return found


def plain(value):
    return value.decode() if isinstance(value, bytes) else value


def text(item, name):
    """An attribute: a string or a list of them, which h5py gives as bytes."""
    value = item.attrs.get(name)
    return [plain(v) for v in value] if getattr(value, "ndim", 0) else plain(value)


def for_each(wanted):
    """Makes a test of one file (name, file) a test of all files whose names are wanted."""
    def of_all(test):
        def run(self):
            for path in FILES:
                if wanted(path.stem):
                    with self.subTest(file=path.name), h5py.File(path, "r") as file:
                        test(self, path, file)
        run.__doc__ = test.__doc__
        return run
    return of_all


def is_any(_):
    return True


def has_plot(name):
    return name not in STRINGS_ONLY


def has_scales(name):
    return not name.endswith("_no_scales")


class Viewers(unittest.TestCase):
    def test_every_kind_is_there(self):
        self.assertEqual({path.stem for path in FILES}, set(VIEWS) | STRINGS_ONLY)

    @for_each(has_plot)
    def test_the_default_leads_to_a_plot(self, path, file):
        kind, title, names = (VIEWS[path.stem][part] for part in ("kind", "title", "axes"))
        self.assertEqual(text(file, "NX_class"), "NXroot")
        group = file[text(file, "default")]
        self.assertEqual(text(group, "NX_class"), "NXdata")
        self.assertEqual(plain(group["title"][()]), title)
        signal = group[text(group, "signal")]
        self.assertEqual(len(text(group, "axes")), signal.ndim)
        self.assertEqual(text(group, "axes")[-len(names):], names)
        self.assertEqual(signal.ndim >= 2, kind == "image")

    @for_each(is_any)
    def test_every_plot_names_its_axes(self, path, file):
        for group in plots(file):
            signal = group[text(group, "signal")]
            self.assertGreater(signal.size, 0, group.name)
            self.assertIn(signal.dtype.kind, "fiu", group.name)  # h5web plots nothing else
            self.assertTrue(plain(group["title"][()]), group.name)
            for size, name in zip(signal.shape, text(group, "axes"), strict=True):
                axis = group[name]  # h5web: a child of the group
                self.assertEqual((axis.shape, axis.dtype.kind), ((size,), "i"), axis.name)
            if "default_slice" in group.attrs:
                slice_ = text(group, "default_slice")
                self.assertEqual(len(slice_), signal.ndim, group.name)
                self.assertTrue(all(s == "." or int(s) < size for s, size in zip(slice_, signal.shape)), group.name)

    @unittest.skipUnless(nxdata, "silx is not there (apt-get download python3-silx)")
    @for_each(has_plot)
    def test_silx_finds_the_default_view(self, path, file):
        kind, title, names = (VIEWS[path.stem][part] for part in ("kind", "title", "axes"))
        data = nxdata.get_default(file)
        self.assertIsNotNone(data, "no default view")
        self.assertEqual((data.is_valid, data.issues), (True, []))
        self.assertEqual(data.title, title)
        self.assertEqual(data.axes_names[-len(names):], names)
        self.assertEqual(data.is_curve, kind == "curve")
        for group in plots(file):
            found = nxdata.NXdata(group)
            self.assertEqual((found.is_valid, found.issues), (True, []), group.name)

    @for_each(has_scales)
    def test_xarray_names_the_dimensions(self, path, file):
        for group in plots(file):
            signal = group[text(group, "signal")]
            for engine in "h5netcdf", "netcdf4":
                with xarray.open_dataset(path, group=group.name, engine=engine) as data:
                    seen = data[text(group, "signal")]
                    self.assertEqual(list(seen.dims), text(group, "axes"), group.name)
                    numpy.testing.assert_array_equal(seen.values, signal[()])
                    for name in group:
                        self.assertIn(name, data.variables, group.name)
                        if name.endswith("_token"):
                            self.assertIn(name, seen.coords, group.name)

    @for_each(has_scales)
    def test_every_dimension_has_a_name(self, path, file):
        """netCDF, and so xarray, calls those phony_dim that have no scale."""
        def check(group):
            self.assertFalse([name for name in group.dimensions if name.startswith("phony_dim")], group.path)
            for inner in group.groups.values():
                check(inner)
        with netCDF4.Dataset(path) as data:
            check(data)

    @for_each({"transformer", "bahdanau"}.__contains__)
    def test_xarray_reads_models(self, path, file):
        group = "/model/parameters/decoder/layer_0/cross_attention/key"
        inputs, outputs = file[group + "/weight"].shape
        for engine in "h5netcdf", "netcdf4":
            with xarray.open_dataset(path, group=group, engine=engine) as data:
                numpy.testing.assert_array_equal(data["weight"].values, file[group + "/weight"][()])
                self.assertEqual(data["weight"].dims, (f"input_{inputs}", f"output_{outputs}"))
        self.assertEqual([d.label for d in file[group + "/weight"].dims], ["input", "output"])

    @for_each(is_any)
    def test_ncdump_prints_all_headers(self, path, file):
        done = subprocess.run(["ncdump", "-h", path], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for group in plots(file):
            name, dims = text(group, "signal"), text(group, "axes")
            if has_scales(path.stem):
                self.assertIn(f" {name}({', '.join(dims)}) ;", done.stdout)

    @for_each(is_any)
    def test_hdfview_has_nothing_to_stumble_over(self, path, file):
        """HDFView (by its source and issues): no image attributes on tensors, no halves, no compounds, no links that
        lead nowhere or out of the file; strings of variable length; scalar attributes; small attributes."""
        self.check_links(file)
        file.visititems(self.check_item)
        self.check_attributes("/", file)

    def check_links(self, group):
        for name in group:
            self.assertIsInstance(group.get(name, getlink=True), h5py.HardLink, f"{group.name}/{name}")
            if isinstance(group[name], h5py.Group):
                self.check_links(group[name])

    def check_item(self, name, item):
        self.check_attributes(name, item)
        if isinstance(item, h5py.Group):
            return
        self.assertIsNotNone(item.shape, f"{name}: null dataspace")
        self.assertIn(str(item.dtype), {"float32", "float64", "int32", "int64", "uint8", "object"}, name)
        if item.dtype == object:
            info = h5py.check_string_dtype(item.dtype)
            self.assertEqual((info.encoding, info.length), ("utf-8", None), name)
        self.assertIn(item.compression, (None, "gzip"), name)

    def check_attributes(self, name, item):
        for key in item.attrs:
            if key in {"DIMENSION_LIST", "REFERENCE_LIST"}:
                continue
            attribute = item.attrs.get_id(key)
            self.assertNotIn(key, {"PALETTE", "_FillValue"}, name)
            if key == "CLASS":
                self.assertEqual(plain(item.attrs[key]), "DIMENSION_SCALE", name)
            self.assertLess(attribute.get_storage_size(), 64000, f"{name} {key}")
            is_list = key in {"axes", "dims", "default_slice", "auxiliary_signals", "DIMENSION_LABELS"}
            self.assertEqual(len(attribute.shape), int(is_list), f"{name} {key}: arrays where viewers want scalars")

    @for_each(lambda name: not has_scales(name))
    def test_without_scales(self, path, file):
        """ViTables and PyTables open no file with attached scales; without them the labels stay."""
        with h5py.File(str(path).replace("_no_scales", ""), "r") as whole:
            group = text(file, "default")
            self.assertEqual(group, text(whole, "default"))
            name = f"{group}/{text(file[group], 'signal')}"
            self.assertEqual([d.label for d in file[name].dims], [d.label for d in whole[name].dims])
            with warnings.catch_warnings(), tables.open_file(str(path)) as seen:
                warnings.simplefilter("ignore")  # it reads no strings
                numpy.testing.assert_array_equal(seen.get_node("/" + name).read(), whole[name][()])
                self.assertEqual({leaf._v_pathname for leaf in seen.walk_nodes("/", "Array")}, self.numbers_of(file))

    def numbers_of(self, file):
        found = set()
        file.visititems(lambda _, item: found.add(item.name)
                        if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" else None)
        return found


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
