"""The workbench of scripts/claims: runs our tools, keeps what they made, and knows every claim.

A claim is a function marked with @claim. It gets a Lab and returns a Finding. All that is computed with models
is computed by the tools in subprocesses; Python only makes inputs, edits files between two tools, and averages.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import subprocess
import threading
from pathlib import Path

import h5py
import numpy as np

from claim_experiments import notes, tasks

CLAIMS = {}  # "P9" -> Claim
HOLDS, PARTLY, FAILS = "holds", "in part", "does not hold"
NOT_MEASURED = "not measured"  # a training or a tool failed
UNDECIDED = "not decided"  # a model that the verdict rests on was still learning, or never learnt its task

STILL_FALLING = 0.05  # nats a word within the last fifth of the updates
UNLEARNT = 1  # nats a word: before alignment forms, losses rest at about 2 on the tasks here


class LabError(Exception):
    """A tool failed: the message is its own last line."""


@dataclasses.dataclass(frozen=True)
class Training:
    """One run of `train`. Equal trainings are run once, whoever needs them."""
    name: str  # for people, and the folder's name
    task: str  # name of a task in tasks.py
    preset: str
    options: tuple = ()  # further options of train
    updates: int = 400
    seed: int = 1
    quick: tuple = ()  # options added under --quick


@dataclasses.dataclass
class Chart:
    """A table that viz-dump draws: rows of (name or number, values...)."""
    name: str
    kind: str  # bars or curves
    header: tuple
    rows: list
    options: tuple = ()

    def tsv(self):
        cell = lambda value: f"{value:.6g}" if isinstance(value, float) else str(value)
        return "".join("\t".join(map(cell, row)) + "\n" for row in [self.header, *self.rows])


@dataclasses.dataclass
class Finding:
    measured: str
    result: str
    verdict: str
    charts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Claim:
    number: str
    text: str
    where: str  # the notes say it: S1:227
    function: object
    trainings: tuple
    settled: tuple  # those whose loss must have stopped falling before there is a verdict
    learnt: tuple  # those that must have learnt their task, too

    def words(self):
        """The notes' own."""
        return f"“{notes.WORDS[self.number]}” ({self.where})"


def claim(number, text, where, trainings=(), settled=None, learnt=()):
    """`settled`: all that are trained, unless the claim is true or false of any model."""
    if settled is None:
        settled = [training for training in trainings if training.updates > 1]

    def mark(function):
        CLAIMS[number] = Claim(number, text, where, function, tuple(trainings), tuple(settled), tuple(learnt))
        return function
    return mark


def fall_at_the_end(steps, losses):
    """By how much a line through the validation losses falls within the last fifth of the updates."""
    return float(np.interp(0.8 * steps[-1], steps, losses) - losses[-1])


def slope(lab, claim):
    """The steepest of the claim's loss curves, in words; empty when it rests on none."""
    curves = [lab.metrics(training) for training in claim.settled]
    falls = [fall_at_the_end(curve["step"], curve["valid_loss"]) for curve in curves if len(curve["step"]) > 1]
    return f"; losses fall by {max(0, *falls):.2f} at most in the last fifth of training" if falls else ""


def undecided_by(lab, claim):
    """Why the claim has no verdict: a training that it rests on was stopped too early, or failed; empty: it has one."""
    reasons = []
    for training in claim.settled:
        name, curve = f"{training.name}, seed {training.seed}", lab.metrics(training)
        steps, losses = curve["step"], curve["valid_loss"]
        if not np.isfinite(losses).all():
            reasons.append(f"a validation loss of {name}, is not finite")
        elif training in claim.learnt and losses[-1] > UNLEARNT:
            reasons.append(f"{name}, has not learnt its task (loss {losses[-1]:.2f})")
        elif len(losses) < 2:
            reasons.append(f"{name}, was validated once: whether its loss still falls is not known")
        elif (fall := fall_at_the_end(steps, losses)) > STILL_FALLING:
            reasons.append(f"the loss of {name}, still falls ({fall:.2f} in the last fifth)")
    return "; ".join(reasons)


def verdict_of(*parts):
    return HOLDS if all(parts) else PARTLY if any(parts) else FAILS


def clearly_below(ours, theirs, margin):
    """Every seed of ours is below every seed of theirs, and the means lie a margin apart: models that learnt nothing
    differ by less, and so do two seeds of one model."""
    return max(ours) < min(theirs) and np.mean(theirs) - np.mean(ours) >= margin


def digest_of(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


class Lab:
    def __init__(self, tools, out, quick=False, threads=1):
        self.tools, self.out, self.quick = Path(tools), Path(out) / "quick" if quick else Path(out), quick
        self.environment = {**os.environ, "HEED_THREADS": str(threads)}
        self.environment.pop("HEED_MODEL", None)
        self.lock, self.made = threading.Lock(), {}
        for folder in ("tasks", "models", "scratch", "results"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)

    # ---- running tools

    def pipe(self, *commands, text=None):
        """Runs tools as one pipeline, lists of words each; the last one's stdout. `text`: a file for stdin."""
        missing = [command[0] for command in commands if not (self.tools / command[0]).exists()]
        if missing:
            raise LabError(f"{self.tools / missing[0]}: no such tool; --tools names their folder")
        processes, source = [], open(text, "rb") if text else subprocess.DEVNULL
        for command in commands:
            words = [str(self.tools / command[0]), *map(str, command[1:])]
            processes.append(subprocess.Popen(words, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                              env=self.environment))
            if source is not subprocess.DEVNULL:
                source.close()
            source = processes[-1].stdout
        errors = [None] * len(processes)

        def drain(i):
            errors[i] = processes[i].stderr.read()
        readers = [threading.Thread(target=drain, args=(i,)) for i in range(len(processes))]
        for reader in readers:
            reader.start()
        output = source.read()
        for reader in readers:
            reader.join()
        for command, process, error in zip(commands, processes, errors):
            if process.wait():
                lines = error.decode(errors="replace").strip().splitlines()
                raise LabError(f"{' '.join(map(str, command))}: {lines[-1] if lines else 'failed'}")
        return output

    def refuses(self, *commands, text=None):
        """The message with which the tools refuse, or None when they do not."""
        try:
            self.pipe(*commands, text=text)
        except LabError as error:
            return str(error)
        return None

    def scratch(self, name):
        return self.out / "scratch" / name

    def tensors(self, name, **arrays):
        """Plain arrays as an HDF5 file for attend."""
        path = self.scratch(name)
        with h5py.File(path, "w") as file:
            for key, array in arrays.items():
                file[key] = array
        return path

    def attend(self, *options):
        """/attention of attend, as arrays."""
        path = self.scratch(f"attend-{threading.get_ident()}.h5")
        self.pipe(["attend", *options, "-o", path])
        return read_group(path, "attention")

    # ---- tasks and models

    @contextlib.contextmanager
    def only_once(self, folder):
        """Holds the folder against a second claims run in the same --out."""
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def texts(self, name):
        """What tasks.py makes of a task: (file name, text) pairs."""
        with self.lock:
            if name not in self.made:
                self.made[name] = tasks.texts(name, self.quick)
        return self.made[name]

    def task(self, name):
        """The folder of a task's texts and vocabulary, named also by what they say."""
        files = self.texts(name)
        folder = self.out / "tasks" / f"{name}-{digest_of(files)}"
        with self.lock, self.only_once(folder):
            if not (folder / "vocabulary.h5").exists():
                for file, text in files:
                    (folder / file).write_text(text, encoding="utf-8")
                self.pipe(["tokenize", "--train", folder / "train.source", folder / "train.target", "--type", "word",
                           "--pretokenized", "-o", folder / "vocabulary.h5"])
        return folder

    def train_command(self, training, output):
        data = self.task(training.task)
        return ["train", "--preset", training.preset, "--vocab", data / "vocabulary.h5",
                "--source", data / "train.source", "--target", data / "train.target",
                "--valid-source", data / "valid.source", "--valid-target", data / "valid.target",
                *training.options, *(training.quick if self.quick else ()),
                "--max-updates", min(training.updates, 2) if self.quick else training.updates,
                "--max-epochs", 0, "--patience", 0, "--valid-bleu=false",
                "--threads", 1, "--seed", training.seed, "-o", output]

    def parameters(self, training):
        """How many parameters the model has."""
        lines = self.pipe([*self.train_command(training, self.scratch("none.h5")), "--dry-run"]).decode().splitlines()
        return int(lines[0].split()[-1].replace(",", ""))

    def model_folder(self, training):
        digest = digest_of(training, self.quick, self.texts(training.task))
        return self.out / "models" / f"{training.name}-{training.seed}-{digest}"

    def trained(self, training):
        """The model file of a training, made now if it is not there yet."""
        folder = self.model_folder(training)
        model = folder / "model.h5"
        with self.only_once(folder):
            if not model.exists():
                command = self.train_command(training, model)
                if (folder / "model.h5.checkpoint").exists():
                    command.append("--resume")
                self.pipe(command)
        return model

    def metrics(self, training):
        """Columns of the training's metrics, name -> array."""
        self.trained(training)
        with open(self.model_folder(training) / "model.h5.metrics.tsv", encoding="utf-8") as file:
            names, *rows = [line.rstrip("\n").split("\t") for line in file]
        return {name: np.array([float(row[i]) for row in rows]) for i, name in enumerate(names)}

    # ---- what models do

    def encode(self, model, text, name, *options):
        """Embeddings and encoder states of a text as a file."""
        path = self.scratch(name + ".h5")
        self.pipe(["tokenize", "-m", model], ["embed", "-m", model], ["encode", "-m", model, *options, "-o", path],
                  text=text)
        return path

    def translate(self, model, text, *options):
        """One translation per line of the file `text`; greedy unless options say otherwise."""
        out = self.pipe(["tokenize", "-m", model], ["embed", "-m", model], ["encode", "-m", model],
                        ["decode", "-m", model, *(options or ("--beam", 1))], text=text)
        return out.decode().splitlines()

    def forced(self, model, source, target):
        """Log-probabilities of the words of given translations, a list per sentence (with </s>)."""
        lines = self.translate(model, source, "--force", target)
        pieces = [line.split("\t", 1)[1].split(" ") for line in lines]
        return [[float(piece.rsplit(":", 1)[1]) for piece in sentence] for sentence in pieces]

    def attention(self, model, source, target):
        """/cross_attention of given translations: weights [sentence, layer, head, query, key] and lengths."""
        path = self.scratch(f"cross-{threading.get_ident()}.h5")
        self.translate(model, source, "--force", target, "--attention", path)
        return read_group(path, "cross_attention")

    def head(self, data, count):
        """The first sentences of a task's test set: (source, target) files."""
        paths = [self.scratch(f"head-{count}.{side}") for side in ("source", "target")]
        for path in paths:
            lines = lines_of(data / f"test{path.suffix}")[:count]
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return paths

    def gold_links(self, data):
        """Gold alignments of the corpus's test set, from make-corpus."""
        script = Path(__file__).resolve().parents[1] / "make-corpus"
        done = subprocess.run([script, "--links", "test", tasks.CORPUS], check=True, capture_output=True, text=True)
        return done.stdout.splitlines()[:len(lines_of(data / "test.source"))]

    def bench(self, *options, threads=1):
        """Rows of attend --bench: (n, d, score, threads, milliseconds, milliseconds of processors)."""
        lines = self.pipe(["attend", "--bench", *options, "--threads", threads]).decode().splitlines()
        rows = [line.split() for line in lines[1:]]
        return [(int(n), int(d), score, int(count), float(wall), float(cpu))
                for n, _, d, score, count, wall, cpu, *_ in rows]

    def attend_time(self, *options):
        """Milliseconds of processor that attend takes in one thread: hardly changed by what else runs."""
        return self.bench(*options)[-1][5]

    def bleu(self, hypotheses, references):
        ours, theirs = self.scratch("hypotheses.txt"), self.scratch("references.txt")
        for path, lines in ((ours, hypotheses), (theirs, references)):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return float(self.pipe(["score", "--tokenize", "none", "--score-only", ours, theirs]))


def read_group(path, group):
    with h5py.File(path) as file:
        return {name: data[()] for name, data in file[group].items() if isinstance(data, h5py.Dataset)}


def lines_of(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def word_accuracy(hypotheses, references):
    """Share of reference words that stand at their place, and share of sentences right as a whole."""
    right = total = whole = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = hypothesis.split(), reference.split()
        right += sum(a == b for a, b in zip(h, r))
        total += len(r)
        whole += h == r
    return right / total, whole / len(references)


def word_errors(hypotheses, references):
    """Insertions, deletions and substitutions that turn the hypotheses into the references, per reference word: unlike
    the places, one slip counts once."""
    changes = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = hypothesis.split(), reference.split()
        row = list(range(len(r) + 1))
        for i, word in enumerate(h, 1):
            diagonal, row[0] = row[0], i
            for j, other in enumerate(r, 1):
                diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
        changes += row[-1]
    return changes / sum(len(reference.split()) for reference in references)


def buckets_of(lines, bounds):
    """[(label, indices)] of lines by their number of words; bounds 1, 11, 21 mean 1-10, 11-20, ..."""
    lengths = np.array([len(line.split()) for line in lines])
    return [(f"{low}-{high - 1}", np.flatnonzero((lengths >= low) & (lengths < high)))
            for low, high in zip(bounds, bounds[1:])]
