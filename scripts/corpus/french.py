"""French word forms: plurals, feminines, conjugation, and what happens where two words meet.

A token of the grammar may end in a mark that `join` reads:
  ^  a determiner, preposition or adjective before its noun: elides, contracts, takes its form before a vowel
  ~  a clitic: elides, never contracts ("de le voir" stays)
A word that begins with "*" starts with an aspirated h: nothing elides before it.
"""

PERSONS = ("1s", "1p", "2p", "3s", "3p")

IRREGULAR_PLURALS = {"journal": "journaux", "cheval": "chevaux", "hôpital": "hôpitaux"}

# Present in the order of PERSONS; future stem; past participle.
IRREGULAR_VERBS = {
    "avoir": ("ai avons avez a ont", "aur", "eu"),
    "être": ("suis sommes êtes est sont", "ser", "été"),
    "aller": ("vais allons allez va vont", "ir", "allé"),
    "venir": ("viens venons venez vient viennent", "viendr", "venu"),
    "revenir": ("reviens revenons revenez revient reviennent", "reviendr", "revenu"),
    "partir": ("pars partons partez part partent", "partir", "parti"),
    "mourir": ("meurs mourons mourez meurt meurent", "mourr", "mort"),
    "voir": ("vois voyons voyez voit voient", "verr", "vu"),
    "prendre": ("prends prenons prenez prend prennent", "prendr", "pris"),
    "surprendre": ("surprends surprenons surprenez surprend surprennent", "surprendr", "surpris"),
    "promettre": ("promets promettons promettez promet promettent", "promettr", "promis"),
    "connaître": ("connais connaissons connaissez connaît connaissent", "connaîtr", "connu"),
    "reconnaître": ("reconnais reconnaissons reconnaissez reconnaît reconnaissent", "reconnaîtr", "reconnu"),
    "disparaître": ("disparais disparaissons disparaissez disparaît disparaissent", "disparaîtr", "disparu"),
    "suivre": ("suis suivons suivez suit suivent", "suivr", "suivi"),
    "ouvrir": ("ouvre ouvrons ouvrez ouvre ouvrent", "ouvrir", "ouvert"),
    "offrir": ("offre offrons offrez offre offrent", "offrir", "offert"),
    "souffrir": ("souffre souffrons souffrez souffre souffrent", "souffrir", "souffert"),
    "conduire": ("conduis conduisons conduisez conduit conduisent", "conduir", "conduit"),
    "construire": ("construis construisons construisez construit construisent", "construir", "construit"),
    "détruire": ("détruis détruisons détruisez détruit détruisent", "détruir", "détruit"),
    "décrire": ("décris décrivons décrivez décrit décrivent", "décrir", "décrit"),
    "craindre": ("crains craignons craignez craint craignent", "craindr", "craint"),
    "recevoir": ("reçois recevons recevez reçoit reçoivent", "recevr", "reçu"),
    "vouloir": ("veux voulons voulez veut veulent", "voudr", "voulu"),
    "pouvoir": ("peux pouvons pouvez peut peuvent", "pourr", "pu"),
    "devoir": ("dois devons devez doit doivent", "devr", "dû"),
    "dormir": ("dors dormons dormez dort dorment", "dormir", "dormi"),
    "courir": ("cours courons courez court courent", "courr", "couru"),
    "mentir": ("mens mentons mentez ment mentent", "mentir", "menti"),
    "rire": ("ris rions riez rit rient", "rir", "ri"),
    "sourire": ("souris sourions souriez sourit sourient", "sourir", "souri"),
    "envoyer": ("envoie envoyons envoyez envoie envoient", "enverr", "envoyé"),
}

IMPERFECT_OF_BE = dict(zip(PERSONS, "étais étions étiez était étaient".split()))

ELISION = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "je": "j'", "me": "m'", "se": "s'"}
BEFORE_VOWEL = {"ma": "mon", "sa": "son", "ce": "cet", "cette": "cette",
                "beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}
CONTRACTION = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def plural(word):
    """The plural of a noun or of a masculine adjective."""
    if word in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[word]
    if word[-1] in "sxz":
        return word
    return word + ("x" if word.endswith(("eau", "eu", "ou")) and word not in ("bleu", "fou") else "s")


def feminine(adjective):
    """The regular feminine of an adjective; the lexicon spells out the others."""
    for ending, result in (("e", "e"), ("eux", "euse"), ("if", "ive"), ("er", "ère"),
                           ("en", "enne"), ("on", "onne"), ("el", "elle")):
        if adjective.endswith(ending):
            return adjective[: -len(ending)] + result
    return adjective + "e"


def agree_participle(participle, gender, number):
    """mangé -> mangée, mangés, mangées; pris stays pris in the masculine plural."""
    word = participle + "e" if gender == "f" else participle
    return word + "s" if number == "p" and not word.endswith("s") else word


def conjugate(infinitive):
    """(present by person, future by person, past participle)"""
    if infinitive in IRREGULAR_VERBS:
        present, future, participle = IRREGULAR_VERBS[infinitive]
        present = present.split()
    elif infinitive.endswith("er"):
        present, future, participle = _first_group(infinitive)
    elif infinitive.endswith("ir"):
        stem = infinitive[:-1]
        present = [stem + ending for ending in ("s", "ssons", "ssez", "t", "ssent")]
        future, participle = infinitive, stem
    else:  # -dre: attendre, vendre
        stem = infinitive[:-2]
        present = [stem + ending for ending in ("s", "ons", "ez", "", "ent")]
        future, participle = infinitive[:-1], stem + "u"
    endings = ("ai", "ons", "ez", "a", "ont")
    return (dict(zip(PERSONS, present)),
            {person: future + ending for person, ending in zip(PERSONS, endings)}, participle)


def _first_group(infinitive):
    stem = infinitive[:-2]
    strong, future = stem, infinitive  # the stem under stress: j'achète, il jette
    if stem in ("jet", "appel"):
        strong = stem + stem[-1]
        future = strong + "er"
    elif stem[-2:-1] == "e" and stem[-1] in "tvnsm":  # acheter, lever
        strong = stem[:-2] + "è" + stem[-1]
        future = strong + "er"
    elif stem.endswith(("ég", "ér")):  # protéger, préférer: accent changes in the present only
        strong = stem[:-2] + "è" + stem[-1]
    elif stem.endswith("y"):
        strong = stem[:-1] + "i"
        future = strong + "er"
    soft = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
    present = [strong + "e", soft + "ons", stem + "ez", strong + "e", strong + "ent"]
    return present, future, stem + "é"


def starts_with_vowel(word):
    return word[0] in "aeiouâàéèêîïôûœh"


def join(tokens):
    """Elide, contract and choose the forms before a vowel; drop the marks."""
    tokens = _drop_partitive_after_de(tokens)
    result = []
    for i, token in enumerate(tokens):
        word = token.strip("^~*")
        following = tokens[i + 1] if i + 1 < len(tokens) else "."
        if token[-1] in "^~" and starts_with_vowel(following):
            word = ELISION.get(word, word)
            if token[-1] == "^":
                word = BEFORE_VOWEL.get(word, word)
        previous = tokens[i - 1].strip("^") if i > 0 and tokens[i - 1].endswith("^") else ""
        if token.endswith("^") and (previous, word) in CONTRACTION:
            result[-1] = CONTRACTION[previous, word]
        else:
            result.append(word)
    return result


def _drop_partitive_after_de(tokens):
    """près de + des maisons = près de maisons (the indefinite des is written des!^ until here)."""
    result = []
    for token in tokens:
        if result and result[-1] == "de^" and token in ("des!^", "de^"):
            continue
        result.append("des" if token == "des!^" else token)
    return result
