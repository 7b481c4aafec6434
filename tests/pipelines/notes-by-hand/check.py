"""Runs the commands of a README's section in one shell and compares what each prints with what follows it there, and the
numbers with NumPy's.
usage: check.py README  (in a scratch directory, with the tools in PATH)"""
import subprocess
import sys

import numpy as np

HEADING = "## The notes' formulas, with one's own vectors"


def steps(path):
    """[(command, what it prints)] of the section."""
    with open(path, encoding="utf-8") as file:
        section = file.read().split(HEADING + "\n")[1].split("\n## ")[0]
    found = []
    for line in section.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif line.startswith("    "):
            found[-1][1].append(line[4:])
    return found


def printed(commands):
    """What each command prints, in one shell after the other."""
    mark = "-- next --"
    script = "set -eo pipefail\n" + "".join(f"{command}\necho '{mark}'\n" for command in commands)
    output = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout
    return [part.splitlines() for part in output.replace(mark + "\n", "\0").split("\0")[:-1]]


def attention(x, scale=1.0):
    scores = x @ x.T * scale
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return scores, weights, weights @ x


def by_numpy():
    """The matrices that the section prints, in its order."""
    x, columns = np.array([[1, 0], [0, 1], [1, 1]]), np.array([[1, 0], [2, 1]])
    yield from attention(x)
    yield x @ columns.T
    wide = np.array([[1, 0, 2, 0], [0, 1, 0, 1], [1, 1, 0, 3]])
    heads = np.hstack([attention(half, 2 ** -0.5)[2] for half in (wide[:, :2], wide[:, 2:])])
    for _ in ("heads", "halves", "turned"):
        yield heads


documented = steps(sys.argv[1])
for (command, wanted), got in zip(documented, printed([command for command, _ in documented]), strict=True):
    if got != wanted:
        sys.exit(f"$ {command}\nprints {got}\nwanted {wanted}")
matrices = [wanted for _, wanted in documented if wanted]
for rows, wanted in zip(matrices, by_numpy(), strict=True):
    got = np.array([row.split() for row in rows], float)
    if got.shape != wanted.shape or np.abs(got - wanted).max() > 5.1e-4:
        sys.exit(f"{rows}\nNumPy: {wanted}")
print(f"{len(documented)} commands, {len(matrices)} matrices: all as documented and as NumPy has them")
