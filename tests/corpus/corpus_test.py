#!/usr/bin/env python3
"""The corpus that ships: written by scripts/make-corpus to the byte, correct French, an honest held-out split."""

import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "testdata" / "english-french"
sys.path.insert(0, str(PROJECT / "scripts"))
from corpus import english, french  # noqa: E402
from corpus.lexicon import Lexicon  # noqa: E402
from corpus.links import forms_of, gold_links  # noqa: E402


def load_make_corpus():
    loader = importlib.machinery.SourceFileLoader("make_corpus", str(PROJECT / "scripts" / "make-corpus"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_corpus", loader))
    loader.exec_module(module)
    return module


make_corpus = load_make_corpus()


def lines(name):
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


class Split(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lemma_of = Lexicon().lemma_of()
        cls.trained = set().union(*(make_corpus.meetings(line, cls.lemma_of) for line in lines("train.en")))

    def test_files_are_what_the_script_writes(self):
        for name, content in make_corpus.files(make_corpus.make(seed=1)).items():
            self.assertTrue((FOLDER / name).read_bytes() == content, name)

    def test_another_seed_writes_other_files(self):
        sizes, make_corpus.SIZES = make_corpus.SIZES, {"train": 50, "valid": 0, "test": 0}
        self.addCleanup(setattr, make_corpus, "SIZES", sizes)
        self.assertNotEqual(make_corpus.make(seed=1), make_corpus.make(seed=2))

    def test_every_held_out_sentence_has_a_combination_unseen_in_training(self):
        for split in ("valid", "test"):
            for line in lines(split + ".en"):
                self.assertTrue(make_corpus.meetings(line, self.lemma_of) - self.trained, line)

    def test_no_sentence_is_in_two_splits(self):
        train, valid, test = (set(lines(split + ".en")) for split in ("train", "valid", "test"))
        self.assertEqual(0, len(train & valid) + len(train & test) + len(valid & test))

    def test_lengths_and_sizes(self):
        for split, size in make_corpus.SIZES.items():
            self.assertEqual((size, size), (len(lines(split + ".en")), len(lines(split + ".fr"))))
        lengths = [len(line.split()) for line in lines("train.en")]
        self.assertEqual((4, 14), (min(lengths), max(lengths)))

    def test_three_thousand_word_forms(self):
        forms = [len({word for line in lines("train." + language) for word in line.split()}) for language in ("en", "fr")]
        self.assertGreaterEqual(sum(forms), 3000)

    def test_demo_sentences_are_new_and_made_of_known_words(self):
        problems = make_corpus.check_demo(FOLDER, lines("train.en"), make_corpus.make(seed=1))
        self.assertEqual([], list(problems))


class Links(unittest.TestCase):
    """Gold alignments, made by hand."""

    def test_links_of_known_pairs(self):
        forms = forms_of(Lexicon())
        for english_line, french_line, links in [
            ("these strange mayors do not take his tourists ' ripe onion .",
             "ces maires étranges ne prennent pas l' oignon mûr de ses touristes .", "2-1 1-2 5-4 10-7 9-8 7-11"),
            ("the mysterious girl washed the umbrella in front of the airports .",
             "la fille mystérieuse a lavé le parapluie devant les aéroports .", "2-1 1-2 3-4 5-6 10-9"),
            ("the king sees the king .", "le roi voit le roi .", "2-2"),  # which king is whose, nobody knows
        ]:
            found = gold_links(forms, english_line, french_line)
            self.assertEqual(links, " ".join(f"{i}-{j}" for i, j in found), english_line)

    def test_most_sentences_have_links_of_distinct_words(self):
        found = [[link.split("-") for link in line.split()] for line in make_corpus.links_of(FOLDER, "test")]
        self.assertGreaterEqual(sum(len(links) >= 2 for links in found), 285)
        for links in found:
            for side in (0, 1):
                self.assertEqual(len(links), len({link[side] for link in links}))


class FrenchText(unittest.TestCase):
    """Rules that hold for every French line, whatever the grammar did."""

    def test_elision_and_contraction(self):
        aspirated = {form for nouns in Lexicon().nouns.values() for noun in nouns
                     if noun.fr["s"].startswith("*") for form in (noun.fr["s"][1:], noun.fr["p"][1:])}
        elidable = {"le", "la", "de", "ne", "que", "je", "me", "se", "ma", "sa", "ce", "beau", "nouveau", "vieux"}
        for line in lines("train.fr") + lines("test.fr") + lines("valid.fr") + lines("demo.fr"):
            words = line.split()
            for word, following in zip(words, words[1:]):
                vowel = french.starts_with_vowel(following) and following not in aspirated
                if word in elidable - {"beau", "nouveau", "vieux"}:
                    self.assertFalse(vowel, line)
                if word.endswith("'"):
                    self.assertTrue(vowel or following == "y", line)
            for wrong in (" de les ", " à les ", " de des ", " de de "):
                self.assertNotIn(wrong, " " + line + " ")

    def test_negation_has_two_parts(self):
        for line in lines("train.fr"):
            words = line.split()
            self.assertEqual(sum(words.count(w) for w in ("ne", "n'")),
                             sum(words.count(w) for w in ("pas", "jamais")), line)


class Forms(unittest.TestCase):
    """Expected forms are written by hand, as in a grammar book."""

    def test_plurals_and_feminines(self):
        for singular, plural in {"gâteau": "gâteaux", "cheval": "chevaux", "souris": "souris", "œuf": "œufs",
                                 "*hibou": "*hiboux", "bleu": "bleus", "jaloux": "jaloux", "noix": "noix"}.items():
            self.assertEqual(plural, french.plural(singular))
        for masculine, feminine in {"fier": "fière", "heureux": "heureuse", "italien": "italienne", "bon": "bonne",
                                    "cruel": "cruelle", "gris": "grise", "rouge": "rouge", "brun": "brune"}.items():
            self.assertEqual(feminine, french.feminine(masculine))
        for singular, plural in {"knife/knives": "knives", "city": "cities", "key": "keys", "box": "boxes"}.items():
            self.assertEqual(plural, singular.partition("/")[2] or english.plural(singular))

    def test_conjugation(self):
        for infinitive, (third, we, they, future, participle) in {
            "manger": ("mange", "mangeons", "mangent", "mangera", "mangé"),
            "jeter": ("jette", "jetons", "jettent", "jettera", "jeté"),
            "soulever": ("soulève", "soulevons", "soulèvent", "soulèvera", "soulevé"),
            "protéger": ("protège", "protégeons", "protègent", "protégera", "protégé"),
            "préférer": ("préfère", "préférons", "préfèrent", "préférera", "préféré"),
            "agacer": ("agace", "agaçons", "agacent", "agacera", "agacé"),
            "choisir": ("choisit", "choisissons", "choisissent", "choisira", "choisi"),
            "attendre": ("attend", "attendons", "attendent", "attendra", "attendu"),
            "venir": ("vient", "venons", "viennent", "viendra", "venu"),
            "voir": ("voit", "voyons", "voient", "verra", "vu"),
        }.items():
            present, later, past = french.conjugate(infinitive)
            self.assertEqual((third, we, they, future, participle),
                             (present["3s"], present["1p"], present["3p"], later["3s"], past))

    def test_participles_agree(self):
        forms = [french.agree_participle("pris", gender, number) for gender in "mf" for number in "sp"]
        self.assertEqual(["pris", "pris", "prise", "prises"], forms)

    def test_words_meet(self):
        for tokens, text in {
            "le^ homme": "l' homme", "le^ *hibou": "le hibou", "de^ le^ roi": "du roi", "de^ le^ oiseau": "de l' oiseau",
            "à^ les^ reines": "aux reines", "de^ la^ école": "de l' école", "ma^ épée": "mon épée",
            "ce^ arbre": "cet arbre", "le^ beau^ oiseau": "le bel oiseau", "je~ ne~ le~ ai pas vu": "je ne l' ai pas vu",
            "ne~ les~ lui a": "ne les lui a", "près de^ des!^ maisons": "près de maisons", "veut le~ voir": "veut le voir",
        }.items():
            self.assertEqual(text, " ".join(french.join(tokens.split())))


if __name__ == "__main__":
    unittest.main()
