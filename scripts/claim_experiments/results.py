"""Findings kept on disk, each with a digest of what it came from: its models, its code, the options."""

import dataclasses
import inspect
import json
import sys

from claim_experiments.lab import Chart, Finding, digest_of


def sources(module, found=None):
    """Source text by name: of a module and of all of ours that it draws on."""
    found = {} if found is None else found
    found[module.__name__] = inspect.getsource(module)
    for value in vars(module).values():
        name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "")
        if name.startswith("claim_experiments.") and name not in found:
            sources(sys.modules[name], found)
    return found


def digest(lab, claim):
    """Of the texts and recipes of the claim's models (which name their folders) and of its code."""
    models = [lab.model_folder(training).name for training in claim.trainings]
    return digest_of(models, sorted(sources(sys.modules[claim.function.__module__]).items()), lab.quick)


def save(lab, claim, finding):
    path = lab.out / "results" / f"{claim.number}.json"
    partial = path.with_suffix(".part")
    stored = {"digest": digest(lab, claim), **dataclasses.asdict(finding)}
    partial.write_text(json.dumps(stored, indent=1), encoding="utf-8")
    partial.replace(path)


def load(lab, claim):
    """The finding measured before; None when there is none, or it came from other models, code or options."""
    path = lab.out / "results" / f"{claim.number}.json"
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored.pop("digest", None) != digest(lab, claim):
        return None
    stored["charts"] = [Chart(**chart) for chart in stored["charts"]]
    return Finding(**stored)
