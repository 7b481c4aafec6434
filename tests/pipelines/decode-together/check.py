"""What decode said, against single models: by NumPy."""
import sys

import h5py
import numpy as np

kind, *names = sys.argv[1:]


def hypotheses(name):
    """The ids and log-probabilities of each sentence's best."""
    with h5py.File(name) as file:
        group = file["hypotheses"]
        length, ids, log_p, score = (group[key][:, 0] for key in ("length", "ids", "token_logprob", "score"))
    return [(ids[s, :n], log_p[s, :n], score[s]) for s, n in enumerate(length)]


def lines_of(text):
    return [line.split(" ||| ") for line in text.splitlines()]


if kind == "greedy":
    found = hypotheses(names[0])
    traced = [h5py.File(name) for name in names[1:]]
    worst, words = 0.0, 0
    for s, (ids, log_p, _) in enumerate(found):
        if len(ids) == 1:
            continue  # an empty source is not searched
        p = np.mean([file["decoder/probabilities/values"][s, :len(ids)].astype(float) for file in traced], axis=0)
        worst = max(worst, np.abs(np.log(p[np.arange(len(ids)), ids]) - log_p).max())
        p[:, [0, 2]] = 0  # pad and bos are never produced
        assert (p.argmax(axis=1) == ids).all(), (s, p.argmax(axis=1), ids)
        words += len(ids)
    assert worst < 1e-5 and words > 30, (worst, words)
    print("each word is the likeliest by the mean of both models' probabilities")
elif kind == "same":
    for one, two in zip(*map(hypotheses, names), strict=True):
        if len(one[0]) == 1:
            continue  # an empty source is not searched
        n = min(len(one[0]), len(two[0]))  # a cut translation is forced with the eos that it lacks
        assert (one[0][:n] == two[0][:n]).all() and np.abs(one[1][:n] - two[1][:n]).max() < 2e-5, (one, two)
    print("--force gives the words the same probabilities")
elif kind == "begins":
    pieces = h5py.File(names[0])["hypotheses/token"].asstr()[:, 0]
    with open(names[1], encoding="utf-8") as file:
        wanted = [line.split() for line in file]
    assert sum(map(len, wanted)) > 10
    for s, words in enumerate(wanted):
        assert list(pieces[s][:len(words)]) == words, (pieces[s], words)
    print("the translations begin so, and go on")
elif kind == "lists":
    with open(names[0], encoding="utf-8") as file:
        wanted = lines_of(file.read())
    got = lines_of(sys.stdin.read())
    assert len(got) == len(wanted) > 15
    for one, two in zip(got, wanted):
        is_cut = len(two[1].split()) == 9  # is forced with the eos that the search did not give it
        assert one[0] == two[0], (one, two)
        scores = {text: float(score) for number, text, score in got if number == two[0]}
        assert two[1] in scores and (is_cut or not two[1] or abs(scores[two[1]] - float(two[2])) < 1e-5), (two, scores)
    print("the same translations with the same scores")
elif kind == "scores":
    with open(names[0], encoding="utf-8") as file:
        lists = lines_of(file.read())
    rank = int(names[1])
    alone = [float(line.split("\t")[0]) for line in sys.stdin]
    by_sentence = {}
    for number, _, score in lists:
        by_sentence.setdefault(int(number), []).append(float(score))
    for s, scores in by_sentence.items():
        assert scores == sorted(scores, reverse=True)
        if len(scores) >= rank:
            assert abs(scores[rank - 1] - alone[s]) < 2e-6, (s, scores, alone[s])
    print("rank", rank, "has the score that it has alone")
