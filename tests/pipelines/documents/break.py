"""Frames that do not say where sentences end, or not of this text, and attention that does not fit together."""
import shutil

import h5py

shutil.copy("embeddings.h5", "untold.h5")
with h5py.File("untold.h5", "a") as file:
    del file["tokens"]
shutil.copy("embeddings.h5", "shorter.h5")
with h5py.File("shorter.h5", "a") as file:
    file["tokens/length"][0] -= 1
    file["tokens/ids"][0, file["tokens/length"][0]] = 0
shutil.copy("attention.h5", "unfit.h5")
with h5py.File("unfit.h5", "a") as file:
    file["sentence_attention/key_length"][1] -= 1
