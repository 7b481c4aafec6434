"""usage: check.py parts (the parameters and queries for attend) | compare (its results with the model's)"""
import sys

import h5py
import numpy as np

align = "model/parameters/decoder/layer_0/cross_attention"
if sys.argv[1] == "parts":
    with h5py.File("model.h5") as model, h5py.File("layer.h5") as layer, h5py.File("parts.h5", "w") as parts:
        # The model keeps its queries projected, so their projection here is the identity.
        parts["alignment/query/weight"] = np.eye(7, dtype="f4")
        for name in ("key/weight", "score/weight"):
            parts[f"alignment/{name}"] = model[f"{align}/{name}"][()]
        parts["state/query"] = layer["attention/query_vector"][:, 0, 0]
        parts["state/length"] = layer["attention/query_length"][()]
else:
    with h5py.File("layer.h5") as layer, h5py.File("own.h5") as own:
        wanted, got = layer["attention"], own["attention"]
        spread = wanted["weights"][()].max(-1).mean()
        assert spread > 0.12, f"the model attends everywhere alike: {spread}"
        for name in ("key_vector", "scores", "weights", "context"):
            assert np.abs(wanted[name][()]).max() > 0.1
            np.testing.assert_allclose(got[name][()], wanted[name][()], rtol=1e-4, atol=1e-5)
        print(f"{wanted['weights'].size} weights and the contexts are the model's own")
