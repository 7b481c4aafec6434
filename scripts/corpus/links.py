"""Gold word alignments of the corpus, from the lexicon that wrote it: a noun, adjective or verb of one sentence belongs
to the word of the other that has the same entry. Articles, pronouns, auxiliaries and the like get no link, nor does a
word that could belong to several.
"""

from corpus.french import BEFORE_VOWEL, agree_participle


def forms_of(lexicon):
    """(English form -> entries, French form -> entries)"""
    en, fr = {}, {}

    def enter(entry, english_forms, french_forms):
        for table, forms in ((en, english_forms), (fr, french_forms)):
            for form in forms:
                table.setdefault(form.lstrip("*"), set()).add(entry)  # * marks an aspirated h
    for noun in sum(lexicon.nouns.values(), []):
        enter(("noun", noun.name), noun.en.values(), noun.fr.values())
    for adjective in sum(lexicon.adjectives.values(), []):
        masculine = adjective.fr["m", "s"]
        enter(("adjective", adjective.name), [adjective.name],
              [*adjective.fr.values(), BEFORE_VOWEL.get(masculine, masculine)])
    for verb in sum(lexicon.verbs.values(), []):
        participles = [agree_participle(verb.participle, gender, number) for gender in "mf" for number in "sp"]
        enter(("verb", verb.name), [verb.name.split("_")[0], verb.third, verb.past],
              [*verb.present.values(), *verb.future.values(), verb.infinitive, *participles])
    return en, fr


def gold_links(forms, english, french):
    """[(English position, French position)] of a sentence pair, in the order of the French words."""
    en, fr = forms
    entries_en = [en.get(word, set()) for word in english.split()]
    entries_fr = [fr.get(word, set()) for word in french.split()]
    links = []
    for j, entries in enumerate(entries_fr):
        sources = [i for i, others in enumerate(entries_en) if entries & others]
        rivals = [k for k, others in enumerate(entries_fr) if sources and others & entries_en[sources[0]]]
        if len(sources) == len(rivals) == 1:
            links.append((sources[0], j))
    return links
