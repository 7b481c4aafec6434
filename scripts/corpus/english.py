"""English word forms: plurals, third person, past, and a or an."""

VOWEL_SOUND_EXCEPTIONS = ("uniform", "university", "useful", "honest")


def plural(word):
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def third_person(verb):
    return {"have": "has", "go": "goes"}.get(verb, plural(verb))


def past(verb):
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + "ed"


def article(following):
    """a or an, by the sound of the next word."""
    vowel = following[0] in "aeiou"
    if following in VOWEL_SOUND_EXCEPTIONS:
        vowel = not vowel
    return "an" if vowel else "a"
