# Translates a large text in parts under Snakemake, on this machine or on a cluster:
#
#   snakemake -s scripts/translate.smk --cores 8 --config model=model.h5 input=big.en output=big.fr
#   snakemake -s scripts/translate.smk --jobs 100 --cluster 'sbatch --cpus-per-task={threads}' --config ... options="--beam 5"
#
# What the steps do, and why a killed or repeated one does no harm: scripts/translate-array, which does them. `lines` is the
# number of lines of a part, a multiple of 64; `options` are those of decode.
import os
import shlex

ARRAY = shlex.quote(os.path.join(workflow.basedir, "translate-array"))
PARTS = config.get("parts", config["output"] + ".parts")
OPTIONS = config.get("options", "")
assert int(config.get("lines", 64)) % 64 == 0, "lines: wanted a multiple of 64"
LINES = f"--lines {int(config['lines'])}" if "lines" in config else ""


def parts(wildcards):
    with open(checkpoints.split.get().output.parts) as table:
        return [f"{PARTS}/{int(line.split()[0]):06d}.{kind}" for line in table for kind in ("out", "done")]


rule join:
    input: parts
    output: config["output"]
    shell: "{ARRAY} join {PARTS:q} {output:q}"


checkpoint split:
    input: model=config["model"], text=config["input"]
    output: plan=PARTS + "/plan", parts=PARTS + "/parts.tsv"
    params: lines=LINES, options=OPTIONS
    shell: "{ARRAY} split {input.model:q} {input.text:q} {PARTS:q} {params.lines} -- {params.options}"


rule translate:
    input: PARTS + "/plan", PARTS + "/parts.tsv"
    output: PARTS + "/{part}.out", PARTS + "/{part}.done"
    wildcard_constraints: part="[0-9]{6}"
    threads: 4
    retries: 2
    shell: "HEED_THREADS={threads} {ARRAY} task {PARTS:q} {wildcards.part}"
