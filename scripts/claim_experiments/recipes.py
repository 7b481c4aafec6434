"""The trainings. Models are small, without dropout, and of one task all see equally many updates, but for P8, which gives
those with one vector more. Where a claim compares systems, the widths give about equally many parameters."""

import dataclasses

from claim_experiments.lab import Training

COMMON = ("--label-smoothing", 0, "--batch-tokens", 1000, "--dropout", 0, "--warmup", 300, "--clip", 1,
          "--learning-rate", 0.003)
RECURRENT = (*COMMON, "--d-embedding", 64, "--d-hidden", 96, "--init", "xavier")
BAHDANAU = (*RECURRENT, "--d-align", 96, "--d-maxout", 96, "--d-hidden", 86)
SUTSKEVER = (*RECURRENT, "--n-layers", 2)
LUONG = (*COMMON, "--score", "general", "--output-dropout", 0, "--d-embedding", 64, "--d-hidden", 64, "--d-attentional", 96, "--init",
         "xavier")
# On text: the score and the rate with which all seeds align within the updates here. With general at 0.003 they rest on the
# plateau before alignment. The cell is Bahdanau's, so that only the flow of the attention differs.
LUONG_TEXT = (*LUONG, "--score", "concat", "--d-align", 64, "--learning-rate", 0.006, "--cell", "gru", "--d-hidden", 76)
TRANSFORMER = (*COMMON, "--d-model", 96, "--d-ff", 192, "--n-heads", 4, "--n-encoder-layers", 2,
               "--n-decoder-layers", 2, "--norm", "pre")

SYSTEMS = {  # name -> preset, options; the first two hand the decoder one vector
    "sutskever": ("sutskever2014-small", SUTSKEVER),
    "cho": ("cho2014-small", RECURRENT),
    "bahdanau": ("bahdanau2015-small", BAHDANAU),
    "luong": ("luong2015-small", LUONG),
    "transformer": ("transformer-tiny", TRANSFORMER),
}
FIXED_VECTOR = ("sutskever", "cho")


def training(system, task, updates, *options, name="", quick=()):
    preset, own = SYSTEMS[system]
    if system == "luong" and task in ("corpus", "joined"):
        own = LUONG_TEXT
    return Training(f"{name or system}-{task}", task, preset, (*own, *options), updates, quick=quick)


TEXT_UPDATES = 800
LENGTH_UPDATES = {  # of P8, with attention and without: the fixed vector gets more time, for it learns slowly
    "copy": (1500, 4000), "reverse": (1500, 4000), "joined": (2000, 4000)}
COPY, REVERSE, JOINED = [
    {system: training(system, task, updates[system in FIXED_VECTOR],
                      *(("--d-ff", 96) if system == "transformer" and task != "joined" else ())) for system in SYSTEMS}
    for task, updates in LENGTH_UPDATES.items()]
TEXT = {system: training(system, "corpus", TEXT_UPDATES) for system in SYSTEMS}
TRANSFORMER_TEXT = TEXT["transformer"]

SOURCE_ORDER = {"plain": training("sutskever", "corpus", TEXT_UPDATES, "--reverse-source=false", name="plain-order"),
                "reversed": TEXT["sutskever"]}
DEPTH = {layers: training("sutskever", "corpus", TEXT_UPDATES, "--n-layers", layers, "--d-hidden", width,
                          name=f"depth-{layers}") for layers, width in ((1, 126), (4, 72))}
DEPTH = {1: DEPTH[1], 2: TEXT["sutskever"], 4: DEPTH[4]}  # 2 layers of 96
FEEDING_UPDATES = 1200  # at one rate for all three, at which Bahdanau's ends lower than at 0.003, too
FEEDING = {"luong": training("luong", "corpus", FEEDING_UPDATES, "--input-feeding=false", "--d-hidden", 87, name="unfed"),
           "luong + feeding": training("luong", "corpus", FEEDING_UPDATES),
           "bahdanau": training("bahdanau", "corpus", FEEDING_UPDATES, "--learning-rate", 0.006)}
BAHDANAU_TEXT = FEEDING["bahdanau"]
NORM = {norm: training("transformer", "corpus", 400, "--norm", norm, "--tied", "none", "--d-model", 64, "--d-ff", 128,
                       "--validate-every", 50, name=f"norm-{norm}")  # tied, "none" would start far above the others
        for norm in ("post", "pre", "none")}
SKIP = {skip: training("transformer", "short-copy", 1000, f"--residual={skip}", "--n-encoder-layers", 6,
                       name=f"residual-{skip}") for skip in ("true", "false")}
HEADS = {heads: training("transformer", "look-ups", 4000, "--n-heads", heads, "--n-encoder-layers", 1,
                         "--n-decoder-layers", 1, name=f"heads-{heads}") for heads in (1, 2, 3)}
LENGTHS = {(task, system): training(system, task, 600) for task in ("double", "half") for system in SYSTEMS}
POSITIONS = {kind: training("transformer", "short-copy", 1500, "--positions", kind, "--max-length", length,
                            name=f"positions-{kind}")
             for kind, length in (("sinusoidal", 1024), ("learned", 21), ("none", 1024))}
AHEAD = {sides: training("luong", "ahead", 1000, f"--bidirectional={flag}", "--d-hidden", width, "--reverse-source=false",
                        "--attention", "local-m", "--window", 1, name=f"{sides.split()[0]}-ahead")
         for sides, flag, width in (("forward only", "false", 118), ("bidirectional", "true", 64))}

# Never trained: one update makes the file. Encoders that are to be compared at their first values.
START = {
    **{name: training("sutskever", "short-copy", 1, "--cell", cell, "--n-layers", 1, "--reverse-source=false", *options,
                      name="start-" + name.replace(" ", "-"))
       for name, cell, options in (("tanh RNN", "rnn", ("--init", "paper")), ("orthogonal tanh RNN", "rnn", ()),
                                   ("GRU", "gru", ()), ("LSTM", "lstm", ()))},
    "Transformer": training("transformer", "short-copy", 1, name="start-transformer"),
}
START_TEXT = training("transformer", "corpus", 1, name="start-text")
START_POST = training("transformer", "short-copy", 1, "--norm", "post", name="start-post")
WIDE = {heads: training("transformer", "short-copy", 1, "--d-model", 512, "--d-ff", 64, "--n-heads", heads,
                        "--n-encoder-layers", 1, "--n-decoder-layers", 1, name=f"wide-{heads}",
                        quick=("--d-model", 64))
        for heads in (1, 2, 4, 8, 16)}
ENCODERS = {  # 256 wide, by name and number of layers
    (name, layers): training(system, "short-copy", 1, *options, flag, layers, name=f"encoder-{name}-{layers}",
                             quick=quick)
    for name, system, flag, options, quick in (
        ("GRU", "sutskever", "--n-layers", ("--cell", "gru", "--d-embedding", 256, "--d-hidden", 256),
         ("--d-embedding", 32, "--d-hidden", 32)),
        ("Transformer", "transformer", "--n-encoder-layers", ("--d-model", 256, "--d-ff", 1024, "--n-decoder-layers", 1),
         ("--d-model", 32, "--d-ff", 64)))
    for layers in (1, 3)
}


def seeds(trainings, count):
    """Every training with seeds 1 .. count."""
    return [dataclasses.replace(one, seed=seed) for one in trainings for seed in range(1, count + 1)]
