"""Reads nouns.txt, adjectives.txt and verbs.txt into small records."""

from dataclasses import dataclass, field
from pathlib import Path

from corpus import english, french


@dataclass
class Noun:
    name: str  # English singular, which names the noun everywhere
    en: dict  # number -> form
    fr: dict
    gender: str


@dataclass
class Adjective:
    name: str
    fr: dict  # (gender, number) -> form; the masculine singular takes its form before a vowel in french.join
    before: bool
    gradable: bool  # takes very, too, as ... as


@dataclass
class Verb:
    name: str
    section: str
    core: bool  # also used with I, we and you
    state: bool  # never in the past
    particle: list  # "for" of look for
    third: str
    past: str
    infinitive: str
    present: dict  # person -> French form
    future: dict
    participle: str
    subjects: list
    objects: list
    en_preposition: list = field(default_factory=list)
    fr_preposition: list = field(default_factory=list)


class Lexicon:
    def __init__(self, folder=Path(__file__).parent):
        self.nouns = {}  # kind -> [Noun]
        self.adjectives = {}  # kind -> [Adjective]
        self.verbs = {}  # section -> [Verb]
        for section, line in _lines(folder / "nouns.txt"):
            self.nouns.setdefault(section, []).append(_noun(line))
        for section, line in _lines(folder / "adjectives.txt"):
            adjective, kinds = _adjective(line, section)
            for kind in kinds:
                self.adjectives.setdefault(kind, []).append(adjective)
        for section, line in _lines(folder / "verbs.txt"):
            self.verbs.setdefault(section, []).append(_verb(line, section))

    def lemma_of(self):
        """English form -> the name of its noun, adjective or verb (used to check the split from the text alone)."""
        table = {}
        for noun in sum(self.nouns.values(), []):
            table.update({form: ("noun", noun.name) for form in noun.en.values()})
        for adjective in sum(self.adjectives.values(), []):
            table[adjective.name] = ("adjective", adjective.name)
        for verb in sum(self.verbs.values(), []):
            base = verb.name.split("_")[0]
            table.update({form: ("verb", base) for form in (base, verb.third, verb.past)})
        return table


def _lines(path):
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            yield section, line


def _noun(line):
    name, singular, gender = line.split()
    name, _, irregular = name.partition("/")
    return Noun(name, {"s": name, "p": irregular or english.plural(name)},
                {"s": singular, "p": french.plural(singular)}, gender)


def _adjective(line, section):
    name, forms, *kinds = line.split()
    masculine, feminine, *vowel = forms.split("/") + ([] if "/" in forms else [french.feminine(forms)])
    assert not vowel or french.BEFORE_VOWEL[masculine] == vowel[0], line
    return Adjective(name, {("m", "s"): masculine, ("f", "s"): feminine,
                            ("m", "p"): french.plural(masculine), ("f", "p"): feminine + "s"},
                     section == "before", section != "nationality"), kinds


def _verb(line, section):
    english_part, french_part, subjects, *objects = (part.strip() for part in line.split("|"))
    english_part, *en_preposition = english_part.split()
    infinitive, *fr_preposition = french_part.split()
    name, _, past = english_part.lstrip("+=").partition("/")
    base, *particle = name.split("_")
    present, future, participle = french.conjugate(infinitive)
    return Verb(name, section, english_part.startswith("+"), "=" in english_part, particle, english.third_person(base),
                past or english.past(base), infinitive, present, future, participle,
                subjects.split(), objects[0].split() if objects else [], en_preposition, fr_preposition)
