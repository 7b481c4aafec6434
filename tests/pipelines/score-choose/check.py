"""The choice of score --choose, from the score of every pair of translations as `score --sentence-level` gives it."""
import math
import random
import subprocess

WORDS = "der die ein hund läuft am strand mit ball .".split()
COUNT, WIDTH = 40, 6


def write(name, lines):
    with open(name, "w") as file:
        file.writelines(line + "\n" for line in lines)
    return name


def score(hypotheses, references, *options):
    """Of each line, compared with the lines of one text or more."""
    texts = [word for i, text in enumerate(references) for word in ("-r", write(f"references{i}", text))]
    out = subprocess.run(["score", write("hypotheses", hypotheses), *texts, "--tokenize", "none", "--sentence-level",
                          "--score-only", "--width", "12", *options], check=True, capture_output=True, text=True).stdout
    return [float(line) for line in out.split()]


def choose(*options):
    return subprocess.run(["score", "--choose", "list", "--tokenize", "none", *options], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def varied(words):
    words = [random.choice(WORDS) if random.random() < 0.3 else word for word in words]
    return words[:len(words) - random.randrange(3)]


random.seed(1)
lists, references = [], ([], [])
for _ in range(COUNT):
    meant = [random.choice(WORDS) for _ in range(random.randrange(5, 12))]
    for text in references:
        text.append(" ".join(varied(meant)))
    lists.append([(" ".join(varied(meant)), round(random.uniform(-3, 0), 6))
                  for _ in range(random.randrange(1, WIDTH))])
write("list", [f"{number} ||| {text} ||| {log_weight:.6f}"
               for number, entries in enumerate(lists) for text, log_weight in entries])
write("reference", references[0])
write("other", references[1])

for metric, sign in ("bleu", 1), ("chrf", 1), ("ter", -1):
    option = ("--metric", metric)
    pairs = iter(score([h for entries in lists for h, _ in entries for _ in entries],
                       [[r for entries in lists for _ in entries for r, _ in entries]], *option))
    least_risk = []
    for entries in lists:
        gains = [sum(math.exp(weight) * sign * next(pairs) for _, weight in entries) for _ in entries]
        least_risk.append(entries[gains.index(max(gains))][0])
    nearest = []
    for texts in references[:1], references:
        near = iter(score([h for entries in lists for h, _ in entries],
                          [[r for entries, r in zip(lists, text) for _ in entries] for text in texts], *option))
        nearest.append([max(entries, key=lambda entry: sign * next(near))[0] for entries in lists])
    first = [entries[0][0] for entries in lists]
    for name, wanted, got in ("least risk", least_risk, choose(*option)), \
                             ("nearest", nearest[0], choose("-r", "reference", *option)), \
                             ("nearest to either", nearest[1], choose("-r", "reference", "-r", "other", *option)):
        same = sum(a == b for a, b in zip(wanted, got))
        others = sum(a != b for a, b in zip(first, got))
        print(metric, name, f"{same} of {COUNT} as computed" if len(got) == COUNT else len(got),
              "many are not the first" if others > COUNT / 4 else others)
