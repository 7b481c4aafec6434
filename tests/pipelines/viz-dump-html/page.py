"""Pages made from files of h5py, taken apart again and compared with those files."""
import base64
import hashlib
import html.parser
import json
import subprocess
import sys
import unittest

import h5py
import numpy

HOSTILE = ["</script><script>alert(1)</script>", "<!--", "\"quotes' &amp;", "{{data}}", "\u05e9\u05dc\u05d5\u05dd",
           "\u6c34\u3092", "e\u0301", "back\\slash", "]]>", "</s>"]


class Page(html.parser.HTMLParser):
    """The elements of a page, and the text inside <script>, <style> and <title>."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.texts, self.inside = [], {}, None
        with open(path, encoding="utf-8") as f:
            self.source = f.read()
        self.feed(self.source)
        self.data = json.loads(self.texts["data"])

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag in ("script", "style", "title"):
            self.inside = attributes.get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style", "title"):
            self.inside = None

    def handle_data(self, text):
        if self.inside:
            self.texts[self.inside] = self.texts.get(self.inside, "") + text

    def values(self, tensor):
        block = base64.b64decode(self.texts[f"block-{tensor['block']}"], validate=True)
        return numpy.frombuffer(block, "<f4").reshape(tensor["shape"])

    def items(self, group):
        return next(g for g in self.data["groups"] if g["name"] == group)["items"]


def viz_dump(*arguments, status=0):
    done = subprocess.run(["viz-dump", *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != status:
        raise AssertionError(f"viz-dump {arguments}: status {done.returncode}: {done.stderr}")
    return done.stderr


def page_of(*arguments):
    viz_dump(*arguments, "--html", "page.html")
    return Page("page.html")


def strings(f, path, values):
    f.create_dataset(path, data=numpy.array(values, dtype=object), dtype=h5py.string_dtype())


def add_group(f, name, kind, values, dims, queries, keys):
    """Attention of NXdata as the tools write it; `queries` and `keys` are lists of words for each sentence (and rank)."""
    group = f.create_group(name)
    group.attrs["NX_class"], group.attrs["signal"] = "NXdata", "weights"
    for path, data in values.items():
        group[path] = data
        for axis, dim in enumerate(dims[path]):
            group[path].dims[axis].label = dim
    group["weights"].attrs["kind"] = kind
    for dim, words in (("query", queries), ("key", keys)):
        lead = dims["weights"][:-4] if numpy.ndim(words[0][0]) else ["sentence"]
        width = group["weights"].shape[dims["weights"].index(dim)]
        pad = lambda row: list(row) + [""] * (width - len(row))
        ranked = [[pad(r) for r in s] for s in words] if len(lead) == 2 else [pad(s) for s in words]
        lengths = [[len(r) for r in s] for s in words] if len(lead) == 2 else [len(s) for s in words]
        strings(f, f"{name}/{dim}_token", ranked)
        group[f"{dim}_length"] = numpy.array(lengths, "i4")
        for axis, label in enumerate([*lead, dim]):
            group[f"{dim}_token"].dims[axis].label = label
        for axis, label in enumerate(lead):
            group[f"{dim}_length"].dims[axis].label = label


RANKED = ["sentence", "rank", "layer", "head", "query", "key"]
PLAIN = ["sentence", "layer", "head", "query", "key"]


def write_attention():
    random = numpy.random.default_rng(4)
    queries = [[["a", "b", "</s>"], ["c", "</s>"]], [HOSTILE[:4], ["x"]]]
    keys = [HOSTILE, ["one", "two", "</s>"]]
    with h5py.File("attention.h5", "w") as f:
        cross = random.random((2, 2, 3, 2, 4, 10)).astype("f4") ** 9
        cross[0, 0, 0, 0, 0, :3] = [numpy.nan, 1e-42, numpy.float32(1) / 3]
        add_group(f, "cross_attention", "cross", {"weights": cross}, {"weights": RANKED}, queries, keys)
        one = random.random((2, 1, 2, 10, 10))  # double, to be rounded
        masked = numpy.where(one > 0.5, one, -numpy.inf).astype("f4")
        dims = {"weights": PLAIN, "masked": PLAIN, "value_vector": [*PLAIN[:3], "key", "value_dim"],
                "weighted_values": [*PLAIN, "value_dim"], "odd": ["sentence", "layer", "other"]}
        add_group(f, "attention", "encoder_self", {"weights": one, "masked": masked, "value_vector": random.random((2, 1, 2, 10, 3)).astype("f4"),
                  "weighted_values": numpy.zeros((2, 1, 2, 10, 10, 3), "f4"), "odd": numpy.zeros((2, 1, 5), "f4")}, dims, keys, keys)
    return queries, keys


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.queries, cls.keys = write_attention()

    def test_loads_nothing(self):
        page = page_of("attention.h5", "--title", "</title><script>alert(2)</script>")
        for tag, attributes in page.elements:
            self.assertNotIn(tag, ("iframe", "object", "embed", "base", "img"))
            self.assertNotIn("src", attributes)
            self.assertEqual(attributes.get("href", "data:,"), "data:,")
            self.assertFalse([name for name in attributes if name.startswith("on")])
        text = page.source.replace("http://www.w3.org/2000/svg", "")  # the name of a namespace, not a place
        for load in ("http:", "https:", "//cdn", "url(data", "@import", "import(", "fetch(", "XMLHttpRequest", "WebSocket"):
            self.assertNotIn(load, text)
        self.assertEqual([t for t, a in page.elements if t == "script" and "type" not in a], ["script"])
        self.assertEqual(page.texts["title"], "</title><script>alert(2)</script>")

    def test_policy_allows_only_the_page_itself(self):
        page = page_of("attention.h5")
        policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        for kind in ("script", "style"):
            digest = base64.b64encode(hashlib.sha256(page.texts[kind].encode()).digest()).decode()
            self.assertIn(f"{kind}-src 'sha256-{digest}'", policy)

    def test_numbers_and_words_come_back(self):
        page = page_of("attention.h5")
        self.assertEqual([g["kind"] for g in page.data["groups"]], ["encoder_self", "cross"])
        with h5py.File("attention.h5") as f:
            seen = []
            for item in page.items("cross_attention"):
                s, r = item["at"]
                seen.append((s, r))
                n, m = len(self.queries[s][r]), len(self.keys[s])
                self.assertEqual(item["labels"], {"query": self.queries[s][r], "key": self.keys[s]})
                numpy.testing.assert_array_equal(page.values(item["tensors"][0]), f["cross_attention/weights"][s, r, :, :, :n, :m])
            self.assertEqual(seen, [(0, 0), (0, 1), (1, 0), (1, 1)])
            for s, item in enumerate(page.items("attention")):
                m = len(self.keys[s])
                tensors = {t["name"]: t for t in item["tensors"]}
                self.assertEqual(set(tensors), {"weights", "masked", "value_vector"})  # the page multiplies the other two
                self.assertEqual(tensors["value_vector"]["dims"], ["layer", "head", "key", "value_dim"])
                numpy.testing.assert_array_equal(page.values(tensors["weights"]), f["attention/weights"][s, :, :, :m, :m].astype("f4"))
                numpy.testing.assert_array_equal(page.values(tensors["masked"]), f["attention/masked"][s, :, :, :m, :m])
                numpy.testing.assert_array_equal(page.values(tensors["value_vector"]), f["attention/value_vector"][s, :, :, :m])

    def test_selections(self):
        page = page_of("attention.h5", "--name", "cross_attention", "--sentence", "1", "--layer=-1", "--head", "1", "--slice", "rank=0")
        self.assertEqual([g["name"] for g in page.data["groups"]], ["cross_attention"])
        (item,) = page.items("cross_attention")
        (tensor,) = item["tensors"]
        self.assertEqual((item["at"], tensor["shape"], tensor["first"]), ([1, 0], [1, 1, 4, 3], [2, 1, 0, 0]))
        with h5py.File("attention.h5") as f:
            numpy.testing.assert_array_equal(page.values(tensor)[0, 0], f["cross_attention/weights"][1, 0, 2, 1, :4, :3])
        item = page_of("attention.h5", "--name", "cross_attention", "--head", "mean", "--slice", "key=1:3", "--slice", "rank=1:").items("cross_attention")[0]
        self.assertEqual((item["at"], item["chosen"], item["labels"]["key"]), ([0, 1], ["head mean"], HOSTILE[1:3]))
        self.assertEqual(item["tensors"][0]["dims"], ["layer", "query", "key"])

    def test_a_matrix_of_another_program(self):
        values = numpy.arange(12, dtype="i2").reshape(3, 4) - 5
        with h5py.File("plain.h5", "w") as f:
            f["x"] = values.astype("i4")
            f["deep"] = numpy.arange(720, dtype="f8").reshape(5, 4, 3, 3, 4)
        viz_dump("plain.h5", "--name", "x", "-o", "page.html")
        page = Page("page.html")
        tensor = page.data["groups"][0]["items"][0]["tensors"][0]
        numpy.testing.assert_array_equal(page.values(tensor), values)
        self.assertEqual(page.data["groups"][0]["range"], [-6, 6])
        deep = page_of("plain.h5", "--name", "deep").data["groups"][0]
        self.assertEqual((deep["outer"], len(deep["items"]), deep["items"][3]["tensors"][0]["shape"]), (["dim_0"], 5, [4, 3, 3, 4]))

    def test_pipes_count_sentences_through_all_frames(self):
        viz_dump("attention.h5", "--html", "file.html")
        with open("attention.h5", "rb") as f:
            subprocess.run(["viz-dump", "-", "--html", "pipe.html"], stdin=f, check=True)
        self.assertEqual(Page("file.html").data["groups"], Page("pipe.html").data["groups"])

    def test_refusals(self):
        with h5py.File("large.h5", "w") as f:
            f["attention/weights"] = numpy.zeros((3, 1, 2, 1500, 1500), "f4")
            for axis, dim in enumerate(PLAIN):
                f["attention/weights"].dims[axis].label = dim
            f["text"] = "words"
        message = viz_dump("large.h5", "--html", "page.html", status=2)
        self.assertRegex(message, r"large.h5: a page of all this would exceed 64 MB \(2 sentences fit\): choose by --name, --sentence")
        viz_dump("large.h5", "--html", "page.html", "--slice", "sentence=0:2")
        self.assertRegex(viz_dump("large.h5", "--html", "page.html", "--layer", "1", status=1), "large.h5:/attention/weights: there is no layer 1")
        self.assertRegex(viz_dump("large.h5", "--html", "page.html", "--name", "text", status=1), "holds text")
        self.assertRegex(viz_dump("attention.h5", "--html", "page.html", "--slice", "rank=2", status=1), "no rank 2 among 2")
        self.assertRegex(viz_dump("attention.h5", "--html", "page.html", "--slice", "step=2", status=1), "no dimension 'step'")
        self.assertRegex(viz_dump("attention.h5", "--html", "page.html", "--slice", "rank=2:1", status=1), "no rank 2:1")
        self.assertRegex(viz_dump("attention.h5", "--html", "page.html", "--tsv", status=2), "at once")
        self.assertRegex(viz_dump("attention.h5", "--html", "page.html", "-o", "x.png", status=2), "nothing else")
        self.assertRegex(viz_dump("attention.h5", "--html", "nowhere/page.html", status=1), "nowhere/page.html")


unittest.main(argv=[sys.argv[0]])
