"""Texts to learn from: toy tasks drawn from a seed, and the English-French corpus that ships.

A toy sentence is a row of letters drawn independently, so that nothing but the task can be learnt:
  copy      a b c -> a b c            reverse   a b c -> c b a
  double    a b c -> a a b b c c      half      a b c d -> a c         (T' = 2 T and T' = T / 2)
  ahead     a b c d -> c d a b      the letter two places on; behind the last the first
  pair      a b c -> ca ab bc         each word names both neighbours in the ring: two look-ups for one word
"""

import random
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "testdata" / "english-french"
LETTERS = "abcdefghijklmnop"
SIZES = {"train": 10000, "valid": 200, "test": 500}

TASKS = {  # name -> rule, shortest, longest, letters
    "copy": (lambda x: x, 1, 24, 8),
    "reverse": (lambda x: x[::-1], 1, 24, 8),
    "double": (lambda x: [word for word in x for _ in range(2)], 1, 20, 16),
    "half": (lambda x: x[::2], 2, 30, 16),
    "pair": (lambda x: [x[i - 1] + x[(i + 1) % len(x)] for i in range(len(x))], 4, 12, 6),
    "ahead": (lambda x: x[2:] + x[:2], 4, 20, 16),
    "short-copy": (lambda x: x, 1, 20, 16),
}


def write(name, folder, quick):
    """{train,valid,test}.{source,target} of the task in `folder`."""
    if name == "corpus":
        for split in SIZES:
            for side, language in (("source", "en"), ("target", "fr")):
                lines = (CORPUS / f"{split}.{language}").read_text(encoding="utf-8").splitlines(keepends=True)
                keep = 60 if quick and split != "train" else len(lines)
                (folder / f"{split}.{side}").write_text("".join(lines[:keep]), encoding="utf-8")
        return
    draw = random.Random(f"{name} 1")
    if name == "joined":
        write_joined(folder, draw, quick)
        return
    rule, shortest, longest, letters = TASKS[name]
    for split, size in SIZES.items():
        size = min(size, 60) if quick else size
        sentences = [[draw.choice(LETTERS[:letters]) for _ in range(draw.randint(shortest, longest))]
                     for _ in range(size)]
        write_lines(folder / f"{split}.source", sentences)
        write_lines(folder / f"{split}.target", [rule(sentence) for sentence in sentences])


def write_joined(folder, draw, quick):
    """Lines of one to four sentences of the corpus, drawn anew for each line."""
    for split, size in SIZES.items():
        pairs = list(zip(*[(CORPUS / f"{split}.{language}").read_text(encoding="utf-8").splitlines()
                           for language in ("en", "fr")]))
        lines = [[draw.choice(pairs) for _ in range(draw.randint(1, 4))] for _ in range(min(size, 60) if quick else size)]
        for i, side in enumerate(("source", "target")):
            write_lines(folder / f"{split}.{side}", [[pair[i] for pair in line] for line in lines])


def write_lines(path, sentences):
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")


def random_letters(count, length, seed, letters=16):
    draw = random.Random(seed)
    return [[draw.choice(LETTERS[:letters]) for _ in range(length)] for _ in range(count)]
