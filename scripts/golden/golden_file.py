"""The files, and what is written of sentences and tensors."""
import os

import h5py
import numpy as np
import torch


def numbers(tensor):
    return tensor.detach().numpy()


def packed(values):
    """Values of the sentences one after the other: matrices by rows, attention blocks flat."""
    if values[0].dim() == 2:
        return torch.cat(values)
    return torch.cat([v.reshape(-1) for v in values])


class GoldenFile:
    """An HDF5 file without time stamps, so that equal runs give equal bytes. file[path] = values."""

    def __init__(self, path, title):
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)  # compact groups
        creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        creation.set_obj_track_times(False)
        self.file = h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, creation, access))
        self.file.attrs["title"] = title
        self.file.attrs["creator"] = "scripts/make-golden"
        self.file.attrs["torch_version"] = str(torch.__version__)
        self.file.attrs["numpy_version"] = np.__version__
        self.file.attrs["h5py_version"] = h5py.__version__

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __setitem__(self, path, values):
        parent, _, name = path.rpartition("/")
        text = isinstance(values, str)
        self.group(parent).create_dataset(name, data=[values] if text else values,
                                          dtype=h5py.string_dtype() if text else None)

    def group(self, path):
        if not path or path in self.file:
            return self.file[path or "/"]
        parent, _, name = path.rpartition("/")
        creation = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        creation.set_obj_track_times(False)
        return h5py.Group(h5py.h5g.create(self.group(parent).id, name.encode(), gcpl=creation))


def write_sentences(file, group, sentences):
    file[group + "/ids"] = np.concatenate(sentences).astype(np.int32)
    file[group + "/length"] = np.array([len(s) for s in sentences], np.int32)
