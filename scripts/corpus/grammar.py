"""A synchronous grammar: each rule builds an English phrase and its French translation together.

Every choice (gender of "it", polite "you", masculine "I", "they" and "them") is fixed, so that the English
sentence determines the French one.
"""

from dataclasses import dataclass

from corpus import english
from corpus.french import IMPERFECT_OF_BE, agree_participle, conjugate, join

AVOIR, ETRE = conjugate("avoir"), conjugate("être")

# English -> French masculine, feminine, plural.
SINGULAR_DETERMINERS = [("the", 8), ("a", 4), ("this", 2), ("my", 1), ("his", 1), ("her", 1), ("our", 1),
                        ("your", 1), ("their", 1)]
PLURAL_DETERMINERS = [("the", 8), ("some", 3), ("these", 2), ("two", 1), ("three", 1), ("four", 1), ("many", 1),
                      ("my", 1), ("his", 1), ("her", 1), ("our", 1), ("your", 1), ("their", 1)]
POSSESSIVES = ("my", "his", "her", "our", "your", "their")
FRENCH_DETERMINERS = {
    "the": ("le^", "la^", "les^"), "a": ("un", "une", ""), "some": ("", "", "des!^"), "any": ("", "", "des!^"),
    "this": ("ce^", "cette^", ""), "these": ("", "", "ces"),
    "my": ("mon", "ma^", "mes"), "his": ("son", "sa^", "ses"), "her": ("son", "sa^", "ses"),
    "our": ("notre", "notre", "nos"), "your": ("votre", "votre", "vos"), "their": ("leur", "leur", "leurs"),
    "two": ("", "", "deux"), "three": ("", "", "trois"), "four": ("", "", "quatre"), "many": ("", "", "de^"),
}


@dataclass
class Phrase:
    """A noun phrase or a pronoun in both languages, with what agreement needs."""
    en: list
    fr: list
    gender: str = "m"
    number: str = "s"
    person: str = "3s"
    noun: object = None  # None for a pronoun


@dataclass
class Polarity:
    """Affirmative, negative or with an adverb of frequency."""
    english: str  # "", "not" or the adverb
    french: str  # "", "pas", "jamais" or the adverb
    negative: bool


AFFIRMATIVE = Polarity("", "", False)
NEGATIVE = Polarity("not", "pas", True)
ADVERBS = [Polarity("never", "jamais", True), Polarity("often", "souvent", False),
           Polarity("always", "toujours", False), Polarity("rarely", "rarement", False)]

PRONOUN_SUBJECTS = {  # English -> French, person, gender, number
    "he": ("il", "3s", "m", "s"), "she": ("elle", "3s", "f", "s"), "they": ("ils", "3p", "m", "p"),
    "i": ("je~", "1s", "m", "s"), "we": ("nous", "1p", "m", "p"), "you": ("vous", "2p", "m", "p"),
}
PRONOUN_OBJECTS = {  # English -> French, gender, number
    "him": ("le~", "m", "s"), "her": ("la~", "f", "s"), "it": ("le~", "m", "s"), "them": ("les~", "m", "p"),
    "me": ("me~", "m", "s"), "us": ("nous", "m", "p"), "you": ("vous", "m", "p"),
}
INDIRECT_OBJECTS = {"him": "lui", "her": "lui", "them": "leur"}
REFLEXIVE = {"1s": "me~", "1p": "nous", "2p": "vous", "3s": "se~", "3p": "se~"}
MODALS = {  # English present (other persons, third person, negative), French infinitive
    "can": ("can", "can", "pouvoir"), "must": ("must", "must", "devoir"), "want": ("want to", "wants to", "vouloir"),
}
PLACE_PREPOSITIONS = [("in", ["dans"]), ("near", ["près", "de^"]), ("behind", ["derrière"]),
                      ("in front of", ["devant"]), ("next to", ["à", "côté", "de^"])]
DEGREES = [("very", "très"), ("too", "trop")]
TIMES = {"past": [("yesterday", "hier"), ("this morning", "ce matin")],
         "future": [("tomorrow", "demain"), ("tonight", "ce soir")],
         "present": [("now", "maintenant")]}
MANNERS = [("slowly", "lentement"), ("quickly", "rapidement"), ("quietly", "tranquillement"), ("a lot", "beaucoup")]


class Grammar:
    """Draws sentences. `links` holds the noun-adjective and noun-verb combinations of the last one."""

    def __init__(self, lexicon, random):
        self.lexicon = lexicon
        self.random = random
        self.uses = {}
        self.links = set()

    # ---- choices

    def chance(self, probability):
        return self.random.random() < probability

    def weighted(self, choices):
        return self.random.choices([c for c, _ in choices], [w for _, w in choices])[0]

    def rarest(self, words, form=()):
        """The least used of a few random words, counted per form: an even cover of the lexicon from a few thousand
        sentences."""
        drawn = [self.random.choice(words) for _ in range(3)]
        word = min(drawn, key=lambda w: self.uses.get((type(w), w.name, form), 0))
        self.uses[type(word), word.name, form] = self.uses.get((type(word), word.name, form), 0) + 1
        return word

    def kind(self, kinds):
        return self.random.choices(kinds, [len(self.lexicon.nouns[k]) for k in kinds])[0]

    def polarity(self):
        draw = self.random.random()
        return AFFIRMATIVE if draw < 0.72 else NEGATIVE if draw < 0.88 else self.random.choice(ADVERBS)

    def tense(self, state=False):
        return self.weighted([("present", 4), ("past", 0 if state else 4), ("future", 2)])

    # ---- noun phrases

    def noun_phrase(self, kind, role="subject", plain=False, adjective=0.35):
        """role "denied" is the object of a negated verb, where un and des become de; "asked" that of a
        question, "head" the noun of a relative clause, "place" a noun after a preposition."""
        noun = self.rarest(self.lexicon.nouns[kind])
        number = "p" if self.chance(0.35) else "s"
        if not plain and kind != "human" and self.chance(0.12):
            return self.possessed(noun, kind, number)
        determiner = self.weighted(PLURAL_DETERMINERS if number == "p" else SINGULAR_DETERMINERS)
        if role == "denied" and determiner == "many" or role == "place" and determiner in ("some", "many"):
            determiner = "the"
        if role == "head" and determiner in POSSESSIVES:
            determiner = "the"
        if role in ("asked", "denied") and determiner == "some":
            determiner = "any"
        adjectives = self.adjectives(noun, kind, adjective)
        en = [adj.name for adj in adjectives] + [noun.en[number]]
        en = [english.article(en[0]) if determiner == "a" else determiner] + en
        fr = self.french_noun(noun, number, adjectives)
        fr = self.french_determiner(determiner, noun.gender, number, adjectives, role) + fr
        return Phrase(en, fr, noun.gender, number, "3" + number, noun)

    def adjectives(self, noun, kind, probability):
        if not self.chance(probability):
            return []
        chosen = [self.rarest(self.lexicon.adjectives[kind])]
        if self.chance(0.15):
            other = self.rarest(self.lexicon.adjectives[kind])
            if other.before != chosen[0].before:  # one on each side of the French noun
                chosen = sorted([chosen[0], other], key=lambda adj: not adj.before)
        self.links.update((noun.name, adj.name) for adj in chosen)
        return chosen

    def french_noun(self, noun, number, adjectives):
        agreed = [(adj, adj.fr[noun.gender, number]) for adj in adjectives]
        return ([form + "^" * (number == "s") for adj, form in agreed if adj.before] + [noun.fr[number]]
                + [form for adj, form in agreed if not adj.before])

    def french_determiner(self, determiner, gender, number, adjectives, role):
        if role == "denied" and determiner in ("a", "any"):
            return ["de^"]
        if determiner in ("some", "any") and any(adj.before for adj in adjectives):
            return ["de^"]  # de belles maisons
        word = FRENCH_DETERMINERS[determiner][2 if number == "p" else "mf".index(gender)]
        return ["beaucoup", word] if determiner == "many" else [word]

    def possessed(self, noun, kind, number):
        """the doctor 's garden = le jardin du médecin"""
        owner = self.noun_phrase("human", plain=True, adjective=0.1)
        while owner.en[0] == "many":
            owner = self.noun_phrase("human", plain=True, adjective=0.1)
        adjectives = self.adjectives(noun, kind, 0.2)
        plain_s = owner.number == "s" or not owner.noun.en["p"].endswith("s")
        en = owner.en + ["'s" if plain_s else "'"] + [adj.name for adj in adjectives] + [noun.en[number]]
        article = FRENCH_DETERMINERS["the"][2 if number == "p" else "mf".index(noun.gender)]
        fr = [article] + self.french_noun(noun, number, adjectives) + ["de^"] + owner.fr
        return Phrase(en, fr, noun.gender, number, "3" + number, noun)

    def pronoun_subject(self, core, exclude=()):
        names = [n for n in PRONOUN_SUBJECTS if n not in exclude and (core or n in ("he", "she", "they"))]
        name = self.random.choice(names)
        word, person, gender, number = PRONOUN_SUBJECTS[name]
        return Phrase([name], [word], gender, number, person)

    def subject(self, verb, tense="present", pronoun=0.3, adjective=0.3):
        compound = tense == "past" and verb.section in ("etre", "motion", "reflexive")
        if "human" in verb.subjects and self.chance(pronoun):
            return self.pronoun_subject(verb.core, exclude=("you",) if compound else ())
        phrase = self.noun_phrase(self.kind(verb.subjects), adjective=adjective)
        self.links.add((phrase.noun.name, verb.name.split("_")[0]))
        return phrase

    def object(self, verb, role="object", plain=False, adjective=0.35):
        phrase = self.noun_phrase(self.kind(verb.objects), role, plain, adjective)
        self.links.add((phrase.noun.name, verb.name.split("_")[0]))
        return phrase

    def pronoun_object(self, verb, tense, subject):
        names = ["them"]
        if "human" in verb.objects or "animal" in verb.objects:
            names += ["him", "her"]
        if "human" in verb.objects and subject.person in ("3s", "3p"):
            names += ["me", "us"] + (["you"] if tense != "past" else [])
        if set(verb.objects) - {"human"}:
            names += ["it", "it"]
        return self.random.choice(names)

    def place(self, adjective=0.15):
        en, fr = self.random.choice(PLACE_PREPOSITIONS)
        place = self.noun_phrase("place", "place", plain=True, adjective=adjective)
        return en.split() + place.en, fr + place.fr

    # ---- verb phrases

    def english_verb(self, verb, tense, polarity, person):
        base = verb.name.split("_")[0]
        if tense == "future":
            words = ["will", polarity.english, base]
        elif polarity is NEGATIVE:
            words = ["did" if tense == "past" else "does" if person == "3s" else "do", "not", base]
        else:
            words = [polarity.english, verb.past if tense == "past" else verb.third if person == "3s" else base]
        return [word for word in words if word] + verb.particle

    def french_verb(self, verb, tense, polarity, subject, clitics=(), agreement=("m", "s")):
        """ne, clitics, verb or auxiliary, pas or adverb, participle. `agreement` is the preceding object's."""
        clitics = list(clitics)
        if verb.section == "reflexive":
            clitics = [REFLEXIVE[subject.person]]
        if tense == "past":
            with_etre = verb.section in ("etre", "motion", "reflexive")
            head = (ETRE if with_etre else AVOIR)[0][subject.person]
            gender, number = (subject.gender, subject.number) if with_etre else agreement
            tail = [agree_participle(verb.participle, gender, number)]
        else:
            head, tail = (verb.future if tense == "future" else verb.present)[subject.person], []
        return self.around(polarity, clitics + [head]) + tail

    def around(self, polarity, words):
        return ["ne~"] * polarity.negative + words + [polarity.french] * bool(polarity.french)

    # ---- clauses

    def transitive(self):
        verb = self.rarest(self.lexicon.verbs["transitive"])
        tense, polarity = self.tense(verb.state), self.polarity()
        subject = self.subject(verb, tense)
        target = self.object(verb, "denied" if polarity.negative else "object")
        en = subject.en + self.english_verb(verb, tense, polarity, subject.person) + target.en
        fr = subject.fr + self.french_verb(verb, tense, polarity, subject) + target.fr
        if len(en) < 9 and self.chance(0.2):
            en_place, fr_place = self.place()
            en, fr = en + en_place, fr + fr_place
        return self.with_time(en, fr, tense)

    def with_time(self, en, fr, tense, probability=0.12):
        """... yesterday = hier , ..."""
        if len(en) > 9 or not self.chance(probability):
            return en, fr
        en_time, fr_time = self.random.choice(TIMES[tense])
        return en + en_time.split(), fr_time.split() + [","] + fr

    def transitive_pronoun(self):
        """he sees it = il le voit"""
        verb = self.rarest(self.lexicon.verbs["transitive"])
        tense, polarity = self.tense(verb.state), self.polarity()
        subject = self.subject(verb, tense, pronoun=0.25)
        name = self.pronoun_object(verb, tense, subject)
        clitic, *agreement = PRONOUN_OBJECTS[name]
        en = subject.en + self.english_verb(verb, tense, polarity, subject.person) + [name]
        fr = subject.fr + self.french_verb(verb, tense, polarity, subject, [clitic], agreement)
        if self.chance(0.3):
            en_place, fr_place = self.place()
            return en + en_place, fr + fr_place
        return self.with_time(en, fr, tense)

    def ditransitive(self):
        """he gives it to her = il le lui donne; he gives her the book = il lui donne le livre"""
        verb, tense, polarity = self.rarest(self.lexicon.verbs["ditransitive"]), self.tense(), self.polarity()
        subject = self.subject(verb, tense, adjective=0.15)
        en = subject.en + self.english_verb(verb, tense, polarity, subject.person)
        form = self.weighted([("nouns", 2), ("clitic and noun", 3), ("clitics", 2)])
        if form == "clitics":
            thing, person = self.random.choice(["it", "them"]), self.random.choice(list(INDIRECT_OBJECTS))
            clitic, *agreement = PRONOUN_OBJECTS[thing]
            fr = self.french_verb(verb, tense, polarity, subject, [clitic, INDIRECT_OBJECTS[person]], agreement)
            return en + [thing, "to", person], subject.fr + fr
        target = self.object(verb, "denied" if polarity.negative else "object", plain=True, adjective=0.25)
        if form == "nouns":
            person = self.noun_phrase("human", plain=True, adjective=0.1)
            fr = self.french_verb(verb, tense, polarity, subject) + target.fr + ["à^"] + person.fr
            return en + target.en + ["to"] + person.en, subject.fr + fr
        person = self.random.choice(list(INDIRECT_OBJECTS))
        fr = self.french_verb(verb, tense, polarity, subject, [INDIRECT_OBJECTS[person]]) + target.fr
        return en + [person] + target.en, subject.fr + fr

    def intransitive(self):
        section = self.weighted([("intransitive", 3), ("etre", 1), ("reflexive", 1)])
        verb, tense, polarity = self.rarest(self.lexicon.verbs[section]), self.tense(), self.polarity()
        subject = self.subject(verb, tense, adjective=0.45)
        en = subject.en + self.english_verb(verb, tense, polarity, subject.person)
        fr = subject.fr + self.french_verb(verb, tense, polarity, subject)
        if section == "intransitive" and polarity is AFFIRMATIVE and self.chance(0.35):
            en_manner, fr_manner = self.random.choice(MANNERS)
            en, fr = en + en_manner.split(), fr + fr_manner.split()
        elif self.chance(0.5):
            en_place, fr_place = self.place()
            en, fr = en + en_place, fr + fr_place
        return self.with_time(en, fr, tense, 0.2)

    def motion(self):
        verb, tense, polarity = self.rarest(self.lexicon.verbs["motion"]), self.tense(), self.polarity()
        subject = self.subject(verb, tense)
        place = self.object(verb, "place", plain=True)
        en = subject.en + self.english_verb(verb, tense, polarity, subject.person) + verb.en_preposition + place.en
        preposition = [word + "^" * (word in ("à", "de")) for word in verb.fr_preposition]
        fr = subject.fr + self.french_verb(verb, tense, polarity, subject) + preposition + place.fr
        return self.with_time(en, fr, tense)

    def modal(self):
        """he wants to see it = il veut le voir"""
        verb = self.rarest([v for v in self.lexicon.verbs["transitive"] if v.name != "want"])
        polarity = NEGATIVE if self.chance(0.25) else AFFIRMATIVE
        subject = self.subject(verb, pronoun=0.45)
        name = self.random.choice(list(MODALS))
        plain, third, infinitive = MODALS[name]
        modal = (third if subject.person == "3s" else plain).split()
        if polarity is NEGATIVE:
            helper = "does" if subject.person == "3s" else "do"
            modal = {"can": ["cannot"], "must": ["must", "not"], "want": [helper, "not", "want", "to"]}[name]
        en = subject.en + modal + [verb.name.split("_")[0]] + verb.particle
        fr = subject.fr + self.around(polarity, [conjugate(infinitive)[0][subject.person]])
        if self.chance(0.4):
            pronoun = self.pronoun_object(verb, "present", subject)
            en, fr = en + [pronoun], fr + [PRONOUN_OBJECTS[pronoun][0], verb.infinitive]
        else:
            target = self.object(verb, "denied" if polarity.negative else "object")
            en, fr = en + target.en, fr + [verb.infinitive] + target.fr
        return en, fr

    def predicate(self):
        """the old houses were not very clean = les vieilles maisons n' étaient pas très propres"""
        kind = self.kind(list(self.lexicon.nouns))
        if kind == "human" and self.chance(0.35):
            subject = self.pronoun_subject(True, exclude=("you",))
        else:
            subject = self.noun_phrase(kind, adjective=0.15)
        choices = [adj for adj in self.lexicon.adjectives[kind] if not adj.before]
        adjective = self.rarest(choices)
        if subject.noun:
            self.links.add((subject.noun.name, adjective.name))
        tense, polarity = self.tense(), NEGATIVE if self.chance(0.25) else AFFIRMATIVE
        en = subject.en + self.english_be(tense, subject, polarity)
        fr = subject.fr + self.around(polarity, [self.french_be(tense, subject.person)])
        agreed = adjective.fr[subject.gender, subject.number]
        gradable = adjective.gradable
        form = self.weighted([("plain", 4), ("degree", 2 * gradable), ("equal", 3 if subject.noun and gradable else 0)])
        if form == "equal":
            other = self.noun_phrase(kind, plain=True, adjective=0.1)
            return en + ["as", adjective.name, "as"] + other.en, fr + ["aussi", agreed, "que~"] + other.fr
        if form == "degree":
            en_degree, fr_degree = self.random.choice(DEGREES)
            en, fr = en + [en_degree], fr + [fr_degree]
        return en + [adjective.name], fr + [agreed]

    def english_be(self, tense, subject, polarity):
        if tense == "future":
            return ["will"] + ["not"] * polarity.negative + ["be"]
        first = {"present": "am", "past": "was"}[tense]
        third, plural = {"present": ("is", "are"), "past": ("was", "were")}[tense]
        word = first if subject.person == "1s" else third if subject.number == "s" else plural
        return [word] + ["not"] * polarity.negative

    def french_be(self, tense, person):
        return {"present": ETRE[0], "past": IMPERFECT_OF_BE, "future": ETRE[1]}[tense][person]

    def existence(self):
        """there are no white cats in the garden = il n' y a pas de chats blancs dans le jardin"""
        kind = self.kind(list(self.lexicon.nouns))
        noun, number = self.rarest(self.lexicon.nouns[kind]), "p" if self.chance(0.5) else "s"
        adjectives = self.adjectives(noun, kind, 0.5)
        en = [adj.name for adj in adjectives] + [noun.en[number]]
        fr = self.french_noun(noun, number, adjectives)
        be = "is" if number == "s" else "are"
        if self.chance(0.3):
            en, fr = ["there", be, "no"] + en, ["il", "n'", "y", "a", "pas", "de^"] + fr
        else:
            determiner = "a" if number == "s" else self.random.choice(["some", "two", "three", "many"])
            fr = self.french_determiner(determiner, noun.gender, number, adjectives, "object") + fr
            determiner = english.article(en[0]) if determiner == "a" else determiner
            en, fr = ["there", be, determiner] + en, ["il", "y", "a"] + fr
        en_place, fr_place = self.place(0.3)
        return en + en_place, fr + fr_place

    def relative(self, head, head_kind):
        """A relative clause on `head`: qui with the head as subject, que with the head as object."""
        verbs = [verb for verb in self.lexicon.verbs["transitive"] if not verb.state]
        as_object = [verb for verb in verbs if head_kind in verb.objects]
        as_subject = [verb for verb in verbs if head_kind in verb.subjects]
        tense = self.weighted([("present", 1), ("past", 2)])
        if as_subject and self.chance(0.4):
            verb = self.rarest(as_subject)
            target = self.object(verb, plain=True, adjective=0.1)
            en = ["who" if head_kind == "human" else "that"]
            en += self.english_verb(verb, tense, AFFIRMATIVE, head.person) + target.en
            fr = ["qui"] + self.french_verb(verb, tense, AFFIRMATIVE, head) + target.fr
        else:
            verb = self.rarest(as_object, (tense, head.gender, head.number))  # la clé qu' il a perdue
            subject = self.subject(verb, tense, pronoun=0.4, adjective=0.1)
            en = ["that"] + subject.en + self.english_verb(verb, tense, AFFIRMATIVE, subject.person)
            fr = ["que~"] + subject.fr + self.french_verb(verb, tense, AFFIRMATIVE, subject,
                                                          agreement=(head.gender, head.number))
        self.links.add((head.noun.name, verb.name.split("_")[0]))
        return en, fr

    def relative_on_subject(self):
        """the apple that the girl ate was red = la pomme que la fille a mangée était rouge"""
        kind = self.kind(list(self.lexicon.nouns))
        head = self.noun_phrase(kind, "head", plain=True, adjective=0.15)
        en_clause, fr_clause = self.relative(head, kind)
        en, fr = head.en + en_clause, head.fr + fr_clause
        if kind in ("human", "animal") and self.chance(0.4):
            verb = self.rarest([v for v in self.lexicon.verbs["intransitive"] if kind in v.subjects])
            tense, polarity = self.tense(), AFFIRMATIVE if self.chance(0.8) else NEGATIVE
            self.links.add((head.noun.name, verb.name))
            return (en + self.english_verb(verb, tense, polarity, head.person),
                    fr + self.french_verb(verb, tense, polarity, head))
        adjective = self.rarest([adj for adj in self.lexicon.adjectives[kind] if not adj.before])
        self.links.add((head.noun.name, adjective.name))
        tense, polarity = self.tense(), AFFIRMATIVE if self.chance(0.8) else NEGATIVE
        en = en + self.english_be(tense, head, polarity) + [adjective.name]
        fr = fr + self.around(polarity, [self.french_be(tense, head.person)])
        return en, fr + [adjective.fr[head.gender, head.number]]

    def relative_on_object(self):
        """the king sees the women that he loved = le roi voit les femmes qu' il a aimées"""
        verb = self.rarest(self.lexicon.verbs["transitive"])
        tense = self.tense(verb.state)
        subject = self.subject(verb, tense, pronoun=0.5, adjective=0.1)
        kind = self.kind(verb.objects)
        head = self.noun_phrase(kind, "head", plain=True, adjective=0.15)
        self.links.add((head.noun.name, verb.name.split("_")[0]))
        en_clause, fr_clause = self.relative(head, kind)
        return (subject.en + self.english_verb(verb, tense, AFFIRMATIVE, subject.person) + head.en + en_clause,
                subject.fr + self.french_verb(verb, tense, AFFIRMATIVE, subject) + head.fr + fr_clause)

    def question(self):
        """did the king find the key ? = est-ce que le roi a trouvé la clé ?"""
        verb = self.rarest(self.lexicon.verbs["transitive"])
        tense = self.tense(verb.state)
        subject = self.subject(verb, tense, pronoun=0.4)
        helper = {"present": "does" if subject.person == "3s" else "do", "past": "did", "future": "will"}[tense]
        en = [helper] + subject.en + [verb.name.split("_")[0]] + verb.particle
        if self.chance(0.35):
            name = self.pronoun_object(verb, tense, subject)
            clitic, *agreement = PRONOUN_OBJECTS[name]
            en, fr = en + [name], self.french_verb(verb, tense, AFFIRMATIVE, subject, [clitic], agreement)
        else:
            target = self.object(verb, "asked")
            en, fr = en + target.en, self.french_verb(verb, tense, AFFIRMATIVE, subject) + target.fr
        return en, ["est-ce", "que~"] + subject.fr + fr

    RULES = [("transitive", 23), ("transitive_pronoun", 14), ("ditransitive", 9), ("intransitive", 14), ("motion", 6),
             ("modal", 9), ("predicate", 12), ("existence", 5), ("relative_on_subject", 8),
             ("relative_on_object", 7), ("question", 7)]

    def sentence(self):
        """(English, French) as tokens separated by spaces."""
        self.links = set()
        rule = self.weighted(self.RULES)
        en, fr = getattr(self, rule)()
        end = "?" if rule == "question" else "."
        return " ".join(en + [end]), " ".join(join(fr + [end]))
