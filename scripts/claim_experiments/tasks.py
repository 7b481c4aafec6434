"""Texts to learn from: toy tasks drawn from a seed, and the English-French corpus that ships.

A toy sentence is a row of letters drawn independently, so that nothing but the task can be learnt:
  copy      a b c -> a b c            reverse   a b c -> c b a
  double    a b c -> a a b b c c      half      a b c d -> a c         (T' = 2 T and T' = T / 2)
  ahead     a b c d -> c d           the letter two places on
  look-ups  b2 a0 d1 c3 -> 310 231 ... a row of eight letters, each with its own number: a word names the numbers of the
                                      three letters that follow its letter in the alphabet, wherever they stand
"""

import random
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "testdata" / "english-french"
LETTERS = "abcdefghijklmnop"
RING = 8  # letters of look-ups
SIZES = {"train": 10000, "valid": 200, "test": 500}

TASKS = {  # name -> rule, shortest, longest, letters
    "copy": (lambda x: x, 1, 24, 8),
    "reverse": (lambda x: x[::-1], 1, 24, 8),
    "double": (lambda x: [word for word in x for _ in range(2)], 1, 20, 16),
    "half": (lambda x: x[::2], 2, 30, 16),
    "ahead": (lambda x: x[2:], 12, 20, 16),
    "short-copy": (lambda x: x, 1, 20, 16),
}


def texts(name, quick):
    """((file name, text), ...) of the task: {train,valid,test}.{source,target}."""
    make = {"corpus": corpus, "joined": joined, "look-ups": look_ups}.get(name, letters_by_rule)
    draw = random.Random(f"{name} 1")
    files = []
    for split, size in SIZES.items():
        count = min(size, 600 if split == "train" else 60) if quick else size
        for side, lines in zip(("source", "target"), zip(*make(name, split, count, draw))):
            files.append((f"{split}.{side}", "".join(f"{line}\n" for line in lines)))
    return tuple(files)


def letters_by_rule(name, _, count, draw):
    rule, shortest, longest, letters = TASKS[name]
    for _ in range(count):
        sentence = [draw.choice(LETTERS[:letters]) for _ in range(draw.randint(shortest, longest))]
        yield " ".join(sentence), " ".join(rule(sentence))


def look_ups(_, __, count, draw):
    for _ in range(count):
        order, number = draw.sample(range(RING), RING), [draw.randrange(4) for _ in range(RING)]
        yield (" ".join(f"{LETTERS[i]}{number[i]}" for i in order),
               " ".join("".join(str(number[(i + ahead) % RING]) for ahead in (1, 2, 3)) for i in order))


def pairs_of_corpus(split):
    return list(zip(*[(CORPUS / f"{split}.{language}").read_text(encoding="utf-8").splitlines()
                      for language in ("en", "fr")]))


def corpus(_, split, count, __):
    pairs = pairs_of_corpus(split)
    return pairs[:count] if count < SIZES[split] else pairs


def joined(_, split, count, draw):
    """Lines of one to four sentences of the corpus, drawn anew for each line."""
    pairs = pairs_of_corpus(split)
    for _ in range(count):
        line = [draw.choice(pairs) for _ in range(draw.randint(1, 4))]
        yield tuple(" ".join(pair[i] for pair in line) for i in range(2))


def write_lines(path, sentences):
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")


def random_letters(count, length, seed, letters=16):
    draw = random.Random(seed)
    return [[draw.choice(LETTERS[:letters]) for _ in range(length)] for _ in range(count)]
