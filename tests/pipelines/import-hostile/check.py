"""Each case is a sound folder with one thing wrong: `train --import` refuses it with status 1 in one line that names the file and the
cause, quickly, in little memory, and writes nothing. The sound folders themselves are imported."""
import base64
import json
import math
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import time
import zipfile

from folders import TESTDATA, dumped, members, npy, pickled, pickled_text, settings, sound, state_dict, with_settings, zipped

SANITIZED = "-sanitize" in os.environ["TOOLS"]  # sanitizers need memory and time of their own
MEMORY, SECONDS = 64 << 20, 5
MANY = 10_000_000_000
DEEP = b"[" * 100_000
LARGE = (1 << 28) + 1  # bytes, one more than a file of text may have
LIST = b'{"x": [' + b"[]," * 1_000_000 + b"[]]}"


def put(name, content):
    return lambda files: files.update({name: content if isinstance(content, bytes) else content.encode()})


def drop(name):
    return lambda files: files.pop(name)


def change(name, edit):
    """The file's JSON, edited in place."""
    def apply(files):
        value = json.loads(files[name])
        edit(value)
        files[name] = dumped(value)
    return apply


def field(name, *path_and_value):
    *path, value = path_and_value

    def edit(json_value):
        for key in path[:-1]:
            json_value = json_value[key]
        json_value[path[-1]] = value
    return change(name, edit)


def config(*path_and_value):
    return field("config.json", *path_and_value)


def tokenizer(*path_and_value):
    return field("tokenizer.json", *path_and_value)


def settings_changed(**changed):
    return change("config.json", lambda settings: settings.update(changed))


def rotary(**changed):
    return change("config.json", lambda settings: settings["rope_parameters"].update(changed))


def generation(name, value):
    return field("generation_config.json", name, value)


def language_settings(**changed):
    return change("tokenizer_config.json", lambda settings: settings.update(changed))


def languages(ids):
    """Codes of languages, by their ids."""
    return language_settings(added_tokens_decoder={str(id): {"content": code, "special": True} for id, code in ids})


def binary(name, edit):
    return lambda files: files.update({name: edit(files[name])})


def header(edit):
    """The header of the weights, edited in place."""
    def apply(files):
        data = files["model.safetensors"]
        size, = struct.unpack("<Q", data[:8])
        value = json.loads(data[8:8 + size])
        edit(value)
        text = dumped(value)
        files["model.safetensors"] = struct.pack("<Q", len(text)) + text + data[8 + size:]
    return apply


def yaml(edit):
    return binary("model.npz", lambda data: with_settings(data, edit(settings(data))))


def replaced(old, new):
    return lambda text: text.replace(old.encode(), new.encode(), 1)


def member(name, content, method=zipfile.ZIP_STORED):
    return binary("model.npz", lambda data: zipped(members(data) | {name: content}, method))


def checkpoint(edit, method=zipfile.ZIP_STORED):
    """The members of params.best, by the ends of their names, edited in place."""
    def apply(data):
        found = members(data)
        prefix = next(name for name in found if name.endswith("/data.pkl"))[:-len("data.pkl")]
        parts = {name[len(prefix):]: content for name, content in found.items()}
        edit(parts)
        return zipped({prefix + name: content for name, content in parts.items()}, method)
    return binary("params.best", apply)


def pickle(content):
    return checkpoint(lambda parts: parts.update({"data.pkl": content}))


def one_tensor(**how):
    """A checkpoint of one tensor of four numbers, or what is said of it."""
    return checkpoint(lambda parts: parts.update({"data.pkl": state_dict(pickled(**how)), "data/0": bytes(16)}))


def charsmap_damaged(data):
    """The normaliser's trie points beyond its end."""
    at = data.index(b"user_defined") + 40
    return data[:at] + b"\xff" * 200 + data[at + 200:]


def large_file(name):
    """A file of LARGE bytes, none of which is on the disk."""
    def make(path):
        path.touch()
        os.truncate(path, LARGE)
    return lambda files: files.update({name: make})


def special_file(make):
    """A file that is none, made when the folder is."""
    return lambda files: files.update({"config.json": make})


def first_step(post_processor):
    return post_processor["single"][0]


TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": None, "special_tokens": {"x": {"id": "x", "ids": [0], "tokens": ["x"]}}}


def template(**changed):
    return tokenizer("post_processor", {**TEMPLATE, **changed})


def model_of(folder, name):
    """The SentencePiece model of another kind of tokenizer."""
    return lambda files: files.update({FAIRSEQ_MODEL: (TESTDATA / "sentencepiece" / folder / name).read_bytes()})


def first_trie_units(table):
    """The table of normalisations, of whose trie the first units point beyond its end."""
    data = base64.b64decode(table)
    return base64.b64encode(data[:4] + b"\0\xfe\xff\x7f" * 8 + data[36:]).decode()


FAIRSEQ_MODEL = "sentencepiece.bpe.model"

# What heed has not of Marian's.
MARIANS_OWN = {b"right-left": b"true", b"ulr": b"true", b"transformer-no-projection": b"true", b"transformer-tied-layers": b"[1, 1]",
               b"transformer-ffn-depth": b"3", b"lemma-dim-emb": b"8", b"factors-dim-emb": b"8", b"transformer-preprocess": b"h",
               b"transformer-postprocess": b"dah", b"transformer-decoder-autoreg": b"average-attention", b"input-types": b"[sequence, class]"}

# name: base, what is wrong, words of the message
CASES = {
    # config.json
    "config-empty": ("gpt2", put("config.json", ""), ["config.json", "not a JSON object"]),
    "config-cut": ("gpt2", binary("config.json", lambda text: text[:-5]), ["config.json", "not a JSON object"]),
    "config-array": ("gpt2", put("config.json", "[1]"), ["config.json", "not a JSON object"]),
    "config-not-utf-8": ("gpt2", put("config.json", b'{"model_type": "\xff\xfe"}'), ["config.json", "not a JSON object"]),
    "config-nul": ("gpt2", put("config.json", b'{"model_type": "gpt2"}\0'), ["config.json", "not a JSON object"]),
    "config-deep": ("gpt2", put("config.json", DEEP), ["config.json", "nested deeper"]),
    "config-deep-object": ("gpt2", put("config.json", b'{"a":' * 100_000), ["config.json", "nested deeper"]),
    "config-many": ("gpt2", put("config.json", LIST), ["config.json", "values"]),
    "config-number-too-large": ("gpt2", config("n_embd", MANY**40), ["config.json"]),
    "config-infinite": ("gpt2", put("config.json", '{"model_type": "gpt2", "n_embd": 1e999}'), ["config.json"]),
    "config-fraction": ("gpt2", config("n_embd", 4.5), ["config.json", "n_embd is 4.5"]),
    "config-true": ("gpt2", config("n_embd", True), ["config.json", "n_embd is true"]),
    "config-list": ("gpt2", config("n_embd", [4]), ["config.json", "n_embd is [4]"]),
    "config-negative": ("gpt2", config("n_embd", -4), ["config.json", "n_embd is -4"]),
    "config-type-list": ("gpt2", config("model_type", ["gpt2"]), ['model_type is ["gpt2"]', "wanted a model of one of"]),
    "config-type-unknown": ("gpt2", config("model_type", "\x1b[31mgemma"), ["config.json", "gemma", "wanted a model of one of"]),
    "config-field-unknown": ("gpt2", config("\x1b]0;x\n", 1), ["config.json", "is unknown"]),
    "config-fields-many": ("gpt2", change("config.json", lambda c: c.update({f"x{i}": i for i in range(40_000)})), ["config.json", "and 39980 more"]),
    "config-quantised": ("llama", config("quantization_config", {"bits": 4}), ["config.json", "quantization_config"]),
    "config-folder": ("gpt2", special_file(os.mkdir), ["config.json"]),
    "config-pipe": ("gpt2", special_file(os.mkfifo), ["config.json"]),
    "config-link-to-itself": ("gpt2", special_file(lambda path: os.symlink("config.json", path)), ["config.json"]),
    "config-device": ("gpt2", special_file(lambda path: os.symlink("/dev/zero", path)), ["config.json"]),
    "config-labels-many": ("bert-classes", change("config.json", lambda c: c.update(id2label={str(i): "" for i in range(100_000)})), ["config.json", "values"]),
    "gpt2-heads-0": ("gpt2", config("n_head", 0), ["n_heads"]),
    "gpt2-width-0": ("gpt2", config("n_embd", 0), ["d_model"]),
    "gpt2-rows-0": ("gpt2", config("vocab_size", 0), ["vocab_size"]),
    "gpt2-rows-many": ("gpt2", config("vocab_size", 9_999_999), ["vocab_size is 9999999"]),
    "gpt2-positions-many": ("gpt2", config("n_positions", 2**31 - 1), ["max_length"]),
    "gpt2-layers-many": ("gpt2", config("n_layer", 2**31 - 1), ["n_decoder_layers"]),
    "llama-heads-0": ("llama", config("num_attention_heads", 0), ["n_heads"]),
    "llama-key-heads-0": ("llama", config("num_key_value_heads", 0), ["k_proj"]),
    "llama-head-width-many": ("llama", config("head_dim", 2**31 - 1), ["d_head"]),
    "llama-base-0": ("llama", config("rope_parameters", {"rope_theta": 0, "rope_type": "default"}), ["rope_base"]),
    "llama-window-list": ("mistral", config("sliding_window", [4]), ["sliding_window is [4]"]),
    "llama-epsilon-text": ("llama", config("rms_norm_eps", "1e-6"), ["rms_norm_eps"]),
    "bert-heads-0": ("bert", config("num_attention_heads", 0), ["n_heads"]),
    "bert-types-many": ("bert", config("type_vocab_size", 2**31 - 1), ["n_token_types"]),
    "roberta-pad-many": ("roberta-masked", config("pad_token_id", 2**31 - 1), ["max_position_embeddings"]),
    "roberta-pad-negative": ("roberta-masked", config("pad_token_id", -(2**40)), ["pad_token_id"]),
    "marian-heads-0": ("marian", lambda files: [config(part + "coder_attention_heads", 0)(files) for part in ("en", "de")], ["n_heads"]),
    "marian-positions-many": ("marian", config("max_position_embeddings", 2**31 - 1), ["max_length"]),
    "t5-heads-0": ("t5", config("num_heads", 0), ["n_heads"]),
    "t5-width-0": ("t5", config("d_model", 0), ["d_model"]),
    "t5-buckets-many": ("t5", config("relative_attention_num_buckets", 2**31 - 1), ["relative_buckets"]),
    "vit-patch-0": ("vit", config("patch_size", 0), ["config.json", "image_size"]),
    "vit-heads-0": ("vit", config("num_attention_heads", 0), ["n_heads"]),
    # all that is not supported, in one message
    "bert-misfits": ("bert", change("config.json", lambda c: c.update(is_decoder=True, add_cross_attention=True, position_embedding_type="relative_key")),
                     ["is_decoder is true", "add_cross_attention is true", 'position_embedding_type is "relative_key"']),
    "gpt2-misfits": ("gpt2", change("config.json", lambda c: c.update(scale_attn_by_inverse_layer_idx=True, add_cross_attention=True)),
                     ["scale_attn_by_inverse_layer_idx is true", "add_cross_attention is true"]),
    "llama-misfits": ("llama", change("config.json", lambda c: c.update(pretraining_tp=2, hidden_act="mish",
                                                                        rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2})),
                      ["pretraining_tp is 2", 'hidden_act is "mish"', 'rope_type is "dynamic"']),
    "marian-misfits": ("marian", change("config.json", lambda c: c.update(static_position_embeddings=False, normalize_before=True, add_final_layer_norm=True,
                                                                          normalize_embedding=True)),
                       ["static_position_embeddings is false", "normalize_before is true", "add_final_layer_norm is true", "normalize_embedding is true"]),
    "npz-misfits": ("npz", yaml(lambda text: b"\n".join(line for line in text.rstrip(b"\0\n").split(b"\n") if line.split(b":")[0] not in MARIANS_OWN)
                                + b"".join(b"\n%s: %s" % setting for setting in MARIANS_OWN.items())),
                    [f"{name.decode()} is " for name in MARIANS_OWN]),
    # generation_config.json
    "generation-array": ("marian", put("generation_config.json", "[]"), ["generation_config.json", "not a JSON object"]),
    "generation-deep": ("marian", put("generation_config.json", DEEP), ["generation_config.json", "nested deeper"]),
    "generation-many": ("marian", put("generation_config.json", LIST), ["generation_config.json", "values"]),
    "generation-beam-wide": ("marian", put("generation_config.json", '{"num_beams": 1000000}'), ["beam is 1000000"]),
    "generation-other-end": ("marian", put("generation_config.json", '{"eos_token_id": 7}'), ["generation_config.json/eos_token_id"]),
    "generation-end-text": ("gpt2", put("generation_config.json", '{"eos_token_id": "x"}'), ["generation_config.json/eos_token_id", '"x"']),
    "generation-end-beyond": ("gpt2", put("generation_config.json", '{"eos_token_id": [0, 9999999]}'), ["generation_config.json/eos_token_id", "9999999", "below"]),
    "generation-end-negative": ("marian", put("generation_config.json", '{"eos_token_id": [0, -1]}'), ["generation_config.json/eos_token_id", "-1"]),
    "generation-end-in-config": ("gpt2", config("eos_token_id", [0, "x"]), ["config.json", "eos_token_id", '"x"']),
    "generation-words": ("marian", put("generation_config.json", '{"bad_words_ids": 7}'), ["bad_words_ids"]),
    "generation-unknown": ("marian", put("generation_config.json", '{"new": 7}'), ["generation_config.json/new = 7 is unknown"]),
    # model.safetensors
    "weights-none": ("gpt2", drop("model.safetensors"), ["model.safetensors"]),
    "weights-pickled": ("gpt2", lambda files: [put("pytorch_model.bin", b"\x80\x02}.")(files), files.pop("model.safetensors")], ["pytorch_model.bin", "safe_serialization"]),
    "weights-pickled-call": ("gpt2-pickled", binary("pytorch_model.bin", lambda data: zipped(members(data) | {"p/data.pkl": b"\x80\x02cos\nsystem\n(" + pickled_text("touch made.h5") + b"tR."})),
                             ["pytorch_model.bin", "needs os system, which is not run"]),
    "weights-empty": ("gpt2", put("model.safetensors", ""), ["model.safetensors"]),
    "weights-cut": ("gpt2", binary("model.safetensors", lambda data: data[:-1]), ["model.safetensors", "cut short"]),
    "weights-tail": ("gpt2", binary("model.safetensors", lambda data: data + b"x"), ["model.safetensors", "after the last tensor"]),
    "weights-header-long": ("gpt2", binary("model.safetensors", lambda data: b"\xff" * 7 + b"\0" + data[8:]), ["model.safetensors"]),
    "weights-header-deep": ("gpt2", put("model.safetensors", struct.pack("<Q", 60_000) + b'{"a":' * 12_000), ["model.safetensors"]),
    "weights-hole": ("gpt2", header(lambda h: h.pop("wpe.weight")), ["model.safetensors", "hole"]),
    "weights-overflow": ("gpt2", header(lambda h: h["wte.weight"].update(shape=[2**32, 2**32])), ["model.safetensors", "too large"]),
    "weights-other-shape": ("gpt2", header(lambda h: h["wpe.weight"].update(shape=[8, 8])), ["wpe.weight", "shape [8, 8], wanted [16, 4]"]),
    "weights-integers": ("gpt2", header(lambda h: h["wpe.weight"].update(dtype="I32")), ["wpe.weight", "int32"]),
    "weights-quantised": ("gpt2", header(lambda h: h["wpe.weight"].update(dtype="F8_E4M3", shape=[256])), ["wpe.weight"]),
    "weights-missing": ("gpt2", header(lambda h: h.update({"x": h.pop("ln_f.bias")})), ["ln_f.bias", "missing", "x [4] has no place"]),
    "weights-nan": ("gpt2", binary("model.safetensors", lambda data: data[:-4] + b"\0\0\xc0\x7f"), ["element", "nan"]),
    # model.safetensors.index.json
    "shards-empty": ("llama-shards", put("model.safetensors.index.json", ""), ["index.json"]),
    "shards-deep": ("llama-shards", put("model.safetensors.index.json", DEEP), ["index.json"]),
    "shards-no-map": ("llama-shards", put("model.safetensors.index.json", "{}"), ["index.json", "weight_map"]),
    "shards-list": ("llama-shards", field("model.safetensors.index.json", "weight_map", []), ["index.json"]),
    "shards-number": ("llama-shards", field("model.safetensors.index.json", "weight_map", "model.norm.weight", 7), ["index.json"]),
    "shards-above": ("llama-shards", field("model.safetensors.index.json", "weight_map", "model.norm.weight", "../model.safetensors"), ["index.json", "../model.safetensors"]),
    "shards-absolute": ("llama-shards", field("model.safetensors.index.json", "weight_map", "model.norm.weight", "/etc/passwd"), ["index.json", "/etc/passwd"]),
    "shards-backslash": ("llama-shards", field("model.safetensors.index.json", "weight_map", "model.norm.weight", "a\\b"), ["index.json"]),
    "shards-missing": ("llama-shards", drop("model-00002-of-00002.safetensors"), ["model-00002-of-00002.safetensors"]),
    "shards-other-file": ("llama-shards", field("model.safetensors.index.json", "weight_map", "model.norm.weight", "model-00001-of-00002.safetensors"), ["model.norm.weight"]),
    "shards-one-too-many": ("llama-shards", field("model.safetensors.index.json", "weight_map", "x", "model-00001-of-00002.safetensors"), ["index.json", '"x"']),
    # tokenizer.json
    "tokenizer-empty": ("gpt2", put("tokenizer.json", ""), ["tokenizer.json", "not a JSON object"]),
    "tokenizer-array": ("gpt2", put("tokenizer.json", "[]"), ["tokenizer.json", "not a JSON object"]),
    "tokenizer-deep": ("gpt2", put("tokenizer.json", DEEP), ["tokenizer.json", "nested deeper"]),
    "tokenizer-no-model": ("gpt2", put("tokenizer.json", "{}"), ["tokenizer.json", "model is missing"]),
    "tokenizer-type": ("gpt2", tokenizer("model", "type", "WordLevel"), ["tokenizer.json", "WordLevel is not supported"]),
    "tokenizer-field": ("gpt2", tokenizer("model", "new", 1), ["tokenizer.json/model", "new = 1"]),
    "tokenizer-vocab-list": ("gpt2", tokenizer("model", "vocab", []), ["tokenizer.json/model/vocab"]),
    "tokenizer-id-large": ("gpt2", tokenizer("model", "vocab", "x", 2**31), ["tokenizer.json", '"x"']),
    "tokenizer-id-negative": ("gpt2", tokenizer("model", "vocab", "x", -1), ["tokenizer.json", '"x"']),
    "tokenizer-id-hole": ("gpt2", tokenizer("model", "vocab", "x", 421), ["tokenizer.json", "the id 421"]),
    "tokenizer-id-twice": ("gpt2", tokenizer("model", "vocab", "x", 7), ["tokenizer.json", "both have the id 7"]),
    "tokenizer-merge-number": ("gpt2", tokenizer("model", "merges", [7]), ["tokenizer.json/model/merges", "is not a merge"]),
    "tokenizer-merge-three": ("gpt2", tokenizer("model", "merges", ["a b c"]), ["tokenizer.json/model/merges"]),
    "tokenizer-merge-unknown": ("gpt2", tokenizer("model", "merges", [["qqq", "zzz"]]), ["tokenizer.json", "qqq"]),
    "tokenizer-dropout": ("gpt2", tokenizer("model", "dropout", 0.1), ["tokenizer.json/model/dropout"]),
    "tokenizer-pattern": ("gpt2", tokenizer("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}), ["tokenizer.json", "unknown pattern (a+)+$"]),
    "tokenizer-normalizer": ("gpt2", tokenizer("normalizer", {"type": "Lowercase"}), ["tokenizer.json/normalizer", "Lowercase"]),
    "tokenizer-decoder": ("gpt2", tokenizer("decoder", {"type": "Fuse"}), ["tokenizer.json/decoder", "Fuse"]),
    "tokenizer-added-number": ("gpt2", tokenizer("added_tokens", 7), ["tokenizer.json/added_tokens"]),
    "tokenizer-added-id": ("gpt2", tokenizer("added_tokens", [{"id": 10**7 - 1, "content": "x", "special": True}]), ["tokenizer.json", "9999999"]),
    "tokenizer-added-no-text": ("gpt2", tokenizer("added_tokens", [{"id": 420, "special": True}]), ["tokenizer.json/added_tokens", "content is missing"]),
    "tokenizer-processor": ("gpt2", tokenizer("post_processor", {"type": "Exec"}), ["tokenizer.json/post_processor", "Exec"]),
    "template-id-unknown": ("gpt2", template(special_tokens={}), ["tokenizer.json/post_processor", "x is not among"]),
    "template-id-beyond": ("gpt2", template(special_tokens={"x": {"id": "x", "ids": [9_000_000], "tokens": ["x"]}}), ["tokenizer.json/post_processor", "9000000"]),
    "template-twice": ("gpt2", template(single=[TEMPLATE["single"][1]] * 2), ["tokenizer.json/post_processor", "twice"]),
    "template-type": ("gpt2", template(single=[{"Sequence": {"id": "A", "type_id": 5}}]), ["tokenizer.json/post_processor", "type_id"]),
    "template-ids-many": ("gpt2", template(single=TEMPLATE["single"][:1] * 20_000 + TEMPLATE["single"][1:],
                                           special_tokens={"x": {"id": "x", "ids": [0] * 100_000, "tokens": ["x"]}}), ["tokenizer.json/post_processor", "ids"]),
    "processors-many": ("gpt2", tokenizer("post_processor", {"type": "Sequence", "processors": [{"type": "RobertaProcessing", "sep": ["x", 1], "cls": ["x", 0]}] * 20_000}),
                        ["tokenizer.json/post_processor", "20000"]),
    "tokenizer-objects-many": ("gpt2", put("tokenizer.json", b'{"model": [' + b"{}," * 200_000 + b"{}]}"), ["tokenizer.json"]),
    "list-pieces-many": ("bert-files", binary("vocab.txt", lambda text: text + b"\nnew"), ["9 pieces, but the weights have 8"]),
    "wordpiece-longest": ("bert", tokenizer("model", "max_input_chars_per_word", 2**31), ["tokenizer.json/model/max_input_chars_per_word"]),
    "wordpiece-unknown": ("bert", tokenizer("model", "unk_token", "no such piece"), ["tokenizer.json/model/unk_token"]),
    "wordpiece-prefix": ("bert", tokenizer("decoder", "prefix", "@@"), ["tokenizer.json/decoder/prefix"]),
    # vocab.json and merges.txt, vocab.txt
    "vocab-array": ("gpt2-files", put("vocab.json", "[]"), ["vocab.json", "not a JSON object"]),
    "vocab-fraction": ("gpt2-files", field("vocab.json", "x", 0.5), ["vocab.json", '"x"']),
    "vocab-many": ("gpt2-files", field("vocab.json", "x", 9_999_999), ["vocab.json", "9999999"]),
    "merges-none": ("gpt2-files", drop("merges.txt"), ["merges.txt", "is missing"]),
    "merges-one-word": ("gpt2-files", put("merges.txt", "abc\n"), ["merges.txt"]),
    "merges-unknown": ("gpt2-files", put("merges.txt", "qqq zzz\n"), ["qqq"]),
    "merges-nul": ("gpt2-files", put("merges.txt", b"a\0 b\n"), ["merges.txt", "NUL"]),
    "merges-large": ("gpt2-files", large_file("merges.txt"), ["merges.txt", f"{LARGE} bytes"]),
    "list-large": ("bert-files", large_file("vocab.txt"), ["vocab.txt", f"{LARGE} bytes"]),
    "list-not-utf-8": ("bert-files", put("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n\xff\n"), ["vocab.txt", "UTF-8"]),
    "list-empty-piece": ("bert-files", put("vocab.txt", b"[PAD]\n\n[UNK]\n[CLS]\n[SEP]\nx\ny\nz"), ["vocab.txt", "empty piece"]),
    "list-twice": ("bert-files", put("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nx\nx\ny\nz"), ["vocab.txt"]),
    "list-no-cls": ("bert-files", put("vocab.txt", b"[PAD]\n[UNK]\n[SEP]\na\nb\nc\nd\ne"), ["vocab.txt", "[CLS]"]),
    "list-lines-many": ("bert-files", put("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + b"\n" * 3_000_000), ["vocab.txt", "empty piece"]),
    "list-no-config": ("bert-files", drop("tokenizer_config.json"), ["tokenizer_config.json", "is missing"]),
    "list-config-array": ("bert-files", put("tokenizer_config.json", "[]"), ["tokenizer_config.json"]),
    "list-config-word": ("bert-files", put("tokenizer_config.json", '{"do_lower_case": "yes"}'), ["tokenizer_config.json/do_lower_case"]),
    # SentencePiece
    "spm-empty": ("t5", put("spiece.model", ""), ["spiece.model"]),
    "spm-zeros": ("t5", put("spiece.model", bytes(5000)), ["spiece.model"]),
    "spm-cut": ("t5", binary("spiece.model", lambda data: data[:3000]), ["spiece.model", "SentencePiece"]),
    "spm-normaliser": ("marian", binary("source.spm", charsmap_damaged), ["normalisations"]),
    "spm-score": ("t5", binary("spiece.model", lambda data: data.replace(b"\x15" + struct.pack("<f", 0), b"\x15\0\0\xc0\x7f", 1)), ["spiece.model", "score"]),
    "spm-other-class": ("t5", put("tokenizer_config.json", '{"tokenizer_class": "XLMRobertaTokenizer"}'), ["spiece.model", "XLMRoberta"]),
    "spm-sentinels-many": ("t5", put("tokenizer_config.json", '{"extra_ids": 9999999}'), ["tokenizer_config.json", "extra_ids"]),
    "spm-sentinels-list": ("t5", put("tokenizer_config.json", '{"extra_ids": [1]}'), ["tokenizer_config.json", "extra_ids"]),
    "spm-config-deep": ("t5", put("tokenizer_config.json", DEEP), ["tokenizer_config.json", "nested deeper"]),
    "spm-added-id": ("t5", put("added_tokens.json", '{"x": 9999999}'), ["9999999"]),
    "spm-added-text": ("t5", put("added_tokens.json", '{"x": "y"}'), ["added_tokens.json"]),
    "spm-added-list": ("t5", put("tokenizer_config.json", '{"added_tokens_decoder": {"x": {"content": "y"}}}'), ["tokenizer_config.json", "added_tokens_decoder"]),
    "marian-no-end": ("marian", change("vocab.json", lambda v: v.update({"no such piece": v.pop("</s>")})), ["vocab.json", "</s>"]),
    "marian-id-twice": ("marian", field("vocab.json", "x", 3), ["vocab.json", "both have the id 3"]),
    "marian-one-model": ("marian", drop("target.spm"), ["target.spm"]),
    # Marian's .npz
    "npz-not-yaml": ("npz", yaml(lambda _: b"a: [1"), ["special:model.yml", "YAML"]),
    "npz-text": ("npz", yaml(lambda _: b"hello"), ["special:model.yml", "wanted settings"]),
    "npz-yaml-deep": ("npz", yaml(lambda text: text + b"x: " + b"[" * 100_000), ["special:model.yml"]),
    "npz-yaml-deep-map": ("npz", yaml(lambda text: text + b"x: " + b"{a: " * 50_000), ["special:model.yml"]),
    "npz-yaml-aliases": ("npz", yaml(lambda text: text + b"a: &a [x, x]\n" + b"".join(b"%c: &%c [%s]\n" % (c, c, b", ".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 122))),
                         ["special:model.yml"]),
    "npz-yaml-long": ("npz", yaml(lambda text: text + b"#" * 2_000_000), ["special:model.yml", "bytes"]),
    "npz-yaml-bomb": ("npz", lambda files: member("special:model.yml.npy", npy(bytes(80_000_000)), zipfile.ZIP_DEFLATED)(files), ["special:model.yml", "80000000"]),
    "npz-twice": ("npz", yaml(lambda text: text + b"type: transformer\n"), ["special:model.yml", "type is given twice"]),
    "npz-recurrent": ("npz", yaml(replaced("type: transformer", "type: s2s")), ["special:model.yml", 'type is "s2s"']),
    "npz-heads-0": ("npz", yaml(replaced("transformer-heads: 4", "transformer-heads: 0")), ["n_heads"]),
    "npz-width-many": ("npz", yaml(replaced("dim-emb: 20", "dim-emb: 2000000000")), ["d_model"]),
    "npz-pickled": ("npz", member("encoder_l1_ffn_b1.npy", npy(bytes(30)).replace(b"|i1", b"|O1")), ["encoder_l1_ffn_b1"]),
    "npz-member-cut": ("npz", member("Wemb.npy", b"\x93NUM"), ["model.npz:/Wemb.npy"]),
    "npz-cut": ("npz", binary("model.npz", lambda data: data[:-10]), ["model.npz"]),
    "student-cut": ("student", binary("model.xxyy.intgemm.alphas.bin", lambda data: data[:-10]), ["model.xxyy.intgemm.alphas.bin", "truncated"]),
    "student-type": ("student", binary("model.xxyy.intgemm.alphas.bin", lambda data: data.replace(b"\1\x41\0", b"\1\x51\0", 1)), ["model.xxyy.intgemm.alphas.bin:/Wemb", "processor"]),
    "student-no-settings": ("student", binary("model.xxyy.intgemm.alphas.bin", replaced("special:model.yml", "special:other.yml")), ["no model in this folder"]),
    "student-config-beam": ("student", put("config.intgemm8bitalpha.yml", "beam-size: 100000"), ["beam"]),
    "student-config-unknown": ("student", put("config.intgemm8bitalpha.yml", "new-search: 1"), ["config.intgemm8bitalpha.yml/new-search"]),
    "student-vocab": ("student", put("vocab.xxyy.spm", "no model"), ["vocab.xxyy.spm"]),
    "npz-decoder-long": ("npz", lambda files: files.update({"decoder.yml": b"#" * 5_000_000}), ["decoder.yml", "bytes"]),
    "npz-decoder-deep": ("npz", put("decoder.yml", b"x: " + DEEP), ["decoder.yml"]),
    "npz-decoder-beam": ("npz", put("decoder.yml", "beam-size: 100000"), ["beam"]),
    "npz-decoder-length": ("npz", put("decoder.yml", "max-length: 2000000000"), ["max_length"]),
    "npz-vocab-line": ("npz", put("vocab.yml", "no colon\n"), ["vocab.yml:1"]),
    "npz-vocab-id": ("npz", binary("vocab.yml", replaced('"w7": 7', '"w7": 9999999999')), ["vocab.yml:8"]),
    "npz-vocab-hole": ("npz", binary("vocab.yml", replaced('"w7": 7', '"w7": 61')), ["vocab.yml"]),
    "npz-vocab-quote": ("npz", binary("vocab.yml", replaced('"w7"', '"w7')), ["vocab.yml:8"]),
    "npz-vocab-cut": ("npz", binary("vocab.yml", lambda text: text + b"? x\n"), ["vocab.yml", "cut off"]),
    # Sockeye
    "sockeye-config-none": ("sockeye", drop("config"), ["no model"]),
    "sockeye-config-list": ("sockeye", put("config", "!ModelConfig\n- 1\n"), ["config", "wanted settings"]),
    "sockeye-config-deep": ("sockeye", put("config", b"!ModelConfig\nx: " + DEEP), ["config"]),
    "sockeye-config-endless": ("sockeye", put("config", "!ModelConfig\nx: &a {y: *a}\n"), ["config"]),
    "sockeye-config-stack": ("sockeye", binary("config", replaced("config_encoder: ", "config_encoder: 7\nx: ")), ["config", "config_encoder is 7"]),
    "sockeye-heads-0": ("sockeye", binary("config", lambda text: text.replace(b"attention_heads: 4", b"attention_heads: 0")), ["n_heads"]),
    "sockeye-rows-many": ("sockeye", binary("config", lambda text: text.replace(b"vocab_source_size: 61", b"vocab_source_size: 9999999").replace(b"vocab_size: 61", b"vocab_size: 9999999")),
                          ["config", "config_embed_target.vocab_size is 9999999"]),
    "sockeye-factors": ("sockeye", binary("config", replaced("num_source_factors: 1", "num_source_factors: 2")), ["config", "num_source_factors"]),
    "sockeye-decoder": ("sockeye", binary("config", lambda text: text.replace(b"decoder_type: transformer", b"decoder_type: lstm")), ["config", "decoder_type"]),
    "sockeye-vocab-array": ("sockeye", put("vocab.src.0.json", "[]"), ["vocab.src.0.json"]),
    "sockeye-vocab-id": ("sockeye", field("vocab.trg.0.json", "x", 9_999_999), ["vocab.trg.0.json", "9999999"]),
    "sockeye-weights-none": ("sockeye", drop("params.best"), ["no weights"]),
    "sockeye-weights-cut": ("sockeye", binary("params.best", lambda data: data[:-30]), ["params.best"]),
    "sockeye-weights-deflated": ("sockeye", checkpoint(lambda parts: None, zipfile.ZIP_DEFLATED), ["params.best", "deflated"]),
    "sockeye-big-endian": ("sockeye", checkpoint(lambda parts: parts.update(byteorder=b"big")), ["params.best", "little endian"]),
    "sockeye-no-pickle": ("sockeye", checkpoint(lambda parts: parts.pop("data.pkl")), ["params.best"]),
    "pickle-empty": ("sockeye", pickle(b""), ["params.best", "cut short"]),
    "pickle-cut": ("sockeye", checkpoint(lambda parts: parts.update({"data.pkl": parts["data.pkl"][:500]})), ["params.best", "cut short"]),
    "pickle-long": ("sockeye", lambda files: pickle(bytes(5_000_000))(files), ["data.pkl", "5000000 bytes"]),
    "pickle-text-long": ("sockeye", pickle(b"\x80\x02X\xff\xff\xff\xff"), ["data.pkl", "cut short"]),
    "pickle-call": ("sockeye", pickle(b"\x80\x02cos\nsystem\n(" + pickled_text("touch made.h5") + b"tR."), ["data.pkl", "needs os system, which is not run"]),
    "pickle-call-builtin": ("sockeye", pickle(b"\x80\x02cbuiltins\neval\n(" + pickled_text("open('made.h5', 'w')") + b"tR."), ["data.pkl", "builtins eval"]),
    "pickle-opcode": ("sockeye", pickle(b"\x80\x02]."), ["data.pkl", "opcode 93"]),
    "pickle-text-shared": ("sockeye", pickle(b"\x80\x02" + pickled_text("x" * (1 << 20)) + b"".join(b"r" + struct.pack("<I", i) for i in range(2000)) + b"."),
                           ["data.pkl", "1048576 bytes"]),
    "pickle-protocol-4": ("sockeye", pickle(b"\x80\x04}."), ["data.pkl", "protocol 4, wanted 2 or 3"]),
    "pickle-protocol": ("sockeye", pickle(b"\x80\x05}."), ["data.pkl", "protocol 5"]),
    "pickle-old": ("sockeye", pickle(b"(dp0\n."), ["data.pkl", "opcode"]),
    "pickle-deep": ("sockeye", pickle(b"\x80\x02)" + b"\x85" * 100_000 + b"."), ["data.pkl", "nests tuples"]),
    "pickle-doubled": ("sockeye", pickle(b"\x80\x02)q\0" + b"h\0h\0\x86q\0" * 60 + b"."), ["data.pkl", "nests tuples"]),
    "pickle-wide": ("sockeye", pickle(b"\x80\x02" + b"N" * 1_000_000), ["data.pkl", "10000 values at a time"]),
    "pickle-memo": ("sockeye", lambda files: pickle(b"\x80\x02N" + b"".join(b"r" + struct.pack("<I", i) for i in range(300_000)))(files), ["data.pkl", "remembers more than"]),
    "pickle-recall": ("sockeye", pickle(b"\x80\x02h\x07."), ["data.pkl", "recalls"]),
    "pickle-nothing-to-take": ("sockeye", pickle(b"\x80\x02\x87."), ["data.pkl", "where there is none"]),
    "pickle-no-mark": ("sockeye", pickle(b"\x80\x02NNt."), ["data.pkl", "where there is none"]),
    "pickle-tuple": ("sockeye", pickle(b"\x80\x02)."), ["data.pkl", "a tuple, wanted a dict"]),
    "pickle-left-over": ("sockeye", pickle(b"\x80\x02N}."), ["data.pkl", "leaves values behind"]),
    "pickle-nested": ("sockeye", pickle(b"\x80\x02}" + pickled_text("x") + b"}s."), ["data.pkl", "a text and a dict"]),
    "pickle-itself": ("sockeye", pickle(b"\x80\x02}q\0" + pickled_text("x") + b"h\0s."), ["data.pkl", "a text and a dict"]),
    "pickle-names": ("sockeye", pickle(state_dict(pickled(), pickled())), ["data.pkl", '"w" twice']),
    "pickle-number": ("sockeye", pickle(b"\x80\x02\x8a\x09" + bytes(9) + b"."), ["data.pkl", "number of 9 bytes"]),
    "tensor-no-storage": ("sockeye", one_tensor(key="9999"), ["params.best:/w", "data/9999"]),
    "tensor-above": ("sockeye", one_tensor(key="../../../../etc/passwd"), ["params.best:/w", "missing"]),
    "tensor-storage-type": ("sockeye", one_tensor(storage="QInt8Storage"), ["data.pkl", "QInt8Storage"]),
    "tensor-storage-size": ("sockeye", one_tensor(elements=5, shape=(5,)), ["params.best:/w", "16 bytes"]),
    "tensor-larger": ("sockeye", one_tensor(shape=(5,)), ["data.pkl", "larger than its storage"]),
    "tensor-beyond": ("sockeye", one_tensor(offset=1), ["data.pkl", "larger than its storage"]),
    "tensor-overflow": ("sockeye", one_tensor(shape=(2**62, 4), strides=(4, 1)), ["data.pkl", "larger than its storage"]),
    "tensor-offset-overflow": ("sockeye", one_tensor(offset=2**63 - 1), ["data.pkl", "larger than its storage"]),
    "tensor-negative": ("sockeye", one_tensor(shape=(-4,)), ["data.pkl", "not a list of sizes"]),
    "tensor-transposed": ("sockeye", one_tensor(shape=(2, 2), strides=(1, 2)), ["data.pkl", "row by row"]),
    "tensor-repeated": ("sockeye", one_tensor(shape=(2**40,), strides=(0,)), ["data.pkl", "row by row"]),
    "tensor-strides": ("sockeye", one_tensor(shape=(4,), strides=(4, 1)), ["data.pkl", "strides"]),
    "tensor-dimensions": ("sockeye", one_tensor(shape=(1,) * 9, strides=(1,) * 9), ["data.pkl", "shape"]),
    "tensor-negated": ("sockeye", one_tensor(more=b"}" + pickled_text("neg") + b"\x88s"), ["data.pkl", "not its values alone"]),
    "tensor-shared": ("sockeye", checkpoint(lambda parts: parts.update({"data.pkl": state_dict(*(pickled(f"w{i}") for i in range(300))), "data/0": bytes(16)})),
                      ["params.best", "4800 bytes, which share 16"]),
    "tensor-alone": ("sockeye", one_tensor(), ["embedding_source.embedding.weight", "missing"]),
    # tokenizer.json of T5
    "unigram-no-list": ("unigram", tokenizer("model", "vocab", {}), ["tokenizer.json/model/vocab"]),
    "unigram-no-score": ("unigram", tokenizer("model", "vocab", 5, ["x", None]), ["tokenizer.json/model/vocab"]),
    "unigram-score-infinite": ("unigram", binary("tokenizer.json", replaced('["<extra_id_0>", 0.0]', '["<extra_id_0>", 1e300]')), ["tokenizer.json", "score"]),
    "unigram-twice": ("unigram", tokenizer("model", "vocab", 5, ["</s>", -1.0]), ["tokenizer.json"]),
    "unigram-no-unknown": ("unigram", tokenizer("model", "unk_id", None), ["tokenizer.json/model/unk_id"]),
    "unigram-other-unknown": ("unigram", tokenizer("model", "unk_id", 7), ["tokenizer.json/model/unk_id"]),
    "unigram-bytes": ("unigram", tokenizer("model", "byte_fallback", True), ["tokenizer.json/model/byte_fallback"]),
    "unigram-table": ("unigram", tokenizer("normalizer", {"type": "Precompiled", "precompiled_charsmap": "!!!!"}), ["tokenizer.json/normalizer", "base64"]),
    "unigram-table-damaged": ("unigram", tokenizer("normalizer", {"type": "Precompiled", "precompiled_charsmap": "////AAAA"}), ["tokenizer.json", "normalisations"]),
    "unigram-normalizer": ("unigram", tokenizer("normalizer", {"type": "NFKC"}), ["tokenizer.json/normalizer", "NFKC"]),
    "unigram-split": ("unigram", tokenizer("pre_tokenizer", {"type": "Whitespace"}), ["tokenizer.json/pre_tokenizer"]),
    # Sentence vectors
    "modules-object": ("bert-sentence", put("modules.json", "{}"), ["modules.json"]),
    "modules-deep": ("bert-sentence", put("modules.json", DEEP), ["modules.json", "nested deeper"]),
    "modules-other": ("bert-sentence", field("modules.json", 1, "type", "sentence_transformers.models.CNN"), ["modules.json[1]", "type"]),
    "modules-above": ("bert-sentence", field("modules.json", 1, "path", ".."), ["modules.json[1]", "path"]),
    "modules-absolute": ("bert-sentence", field("modules.json", 1, "path", "/etc"), ["modules.json[1]", "path"]),
    "modules-root": ("bert-sentence", field("modules.json", 1, "path", ""), ["modules.json[1]", "path"]),
    "modules-no-pooling": ("bert-sentence", drop("1_Pooling/config.json"), ["1_Pooling/config.json", "missing"]),
    "modules-pooling-array": ("bert-sentence", put("1_Pooling/config.json", "[]"), ["1_Pooling/config.json"]),
    "modules-pooling-max": ("bert-sentence", field("1_Pooling/config.json", "pooling_mode_max_tokens", True), ["1_Pooling/config.json", "pooling_mode_max_tokens"]),
    "modules-task": ("bert-dense", field("sentence_bert_config.json", "transformer_task", "sequence-classification"), ["sentence_bert_config.json", "transformer_task"]),
    "modules-normalize-tokens": ("bert-dense", field("3_Normalize/config.json", "module_input_name", "token_embeddings"), ["3_Normalize/config.json", "module_input_name"]),
    "dense-array": ("bert-dense", put("2_Dense/config.json", "[]"), ["2_Dense/config.json"]),
    "dense-deep": ("bert-dense", put("2_Dense/config.json", DEEP), ["2_Dense/config.json", "nested deeper"]),
    "dense-above": ("bert-dense", field("modules.json", 2, "path", ".."), ["modules.json[2]", "path"]),
    "dense-root": ("bert-dense", field("modules.json", 2, "path", ""), ["modules.json[2]", "path"]),
    "dense-thrice": ("gemma3-sentence", field("modules.json", 4, "type", "sentence_transformers.models.Dense"), ["modules.json[4]", "type"]),
    "dense-first-wider": ("gemma3-sentence", field("2_Dense/config.json", "out_features", 21), ["3_Dense/config.json", "in_features is 20, wanted 21"]),
    "dense-unlike": ("gemma3-sentence", lambda files: [field("3_Dense/config.json", *change)(files) for change in (
        ("bias", True), ("activation_function", "torch.nn.modules.activation.Tanh"))], ["activation_function", "that of the Dense before it", "bias is true"]),
    "dense-beside-no-weights": ("gemma3-sentence", drop("3_Dense/model.safetensors"), ["3_Dense", "no weights"]),
    "causal-null": ("qwen3-sentence", config("is_causal", None), ["is_causal is null"]),
    "causal-null-words": ("qwen3", config("is_causal", None), ["is_causal is null"]),
    "dense-none-wide": ("gemma3-sentence", field("2_Dense/config.json", "out_features", 0), ["out_features is 0, wanted at least 1"]),
    "dense-after": ("bert-dense", field("modules.json", 3, "type", "sentence_transformers.models.Dense2"), ["modules.json[3]", "wanted Dense or Normalize"]),
    "prompt-left-out": ("qwen3-sentence", field("1_Pooling/config.json", "include_prompt", False), ["include_prompt is false"]),
    "prompt-null": ("qwen3-sentence", field("1_Pooling/config.json", "include_prompt", None), ["include_prompt is null"]),
    "pooling-disagrees": ("qwen3-sentence", field("1_Pooling/config.json", "pooling_mode", "mean"), ["disagree"]),
    "pooling-two": ("qwen3-sentence", field("1_Pooling/config.json", "pooling_mode_cls_token", True), ["1_Pooling/config.json", "wanted one of"]),
    "prompts-array": ("qwen3-sentence", put("config_sentence_transformers.json", "[]"), ["config_sentence_transformers.json"]),
    "causal-window": ("qwen3-sentence", settings_changed(is_causal=False, use_sliding_window=True, sliding_window=4, max_window_layers=0, layer_types=None),
                      ["is_causal is false, wanted true where layers have a window"]),
    "gemma3-sentence-misfits": ("gemma3-sentence", settings_changed(is_causal=False, use_bidirectional_attention="both"),
                                ["is_causal is false", 'use_bidirectional_attention is "both"']),
    "sentence-no-modules": ("gemma3-sentence", drop("modules.json"), ["use_bidirectional_attention is true"]),
    "dense-no-weights": ("bert-dense", drop("2_Dense/model.safetensors"), ["2_Dense", "no weights"]),
    "dense-cut-weights": ("bert-dense", put("2_Dense/model.safetensors", b"\0" * 20), ["2_Dense/model.safetensors"]),
    "dense-other-weights": ("bert-dense", lambda files: files.update({"2_Dense/model.safetensors": files["model.safetensors"]}), ["2_Dense/", "has no place"]),
    "dense-many": ("bert-dense", field("2_Dense/config.json", "out_features", MANY), ["out_features"]),
    "dense-wider": ("bert-dense", field("2_Dense/config.json", "out_features", 999_999), ["2_Dense/linear.weight", "shape"]),
    # Classes and positions
    "labels-none": ("bert-tokens", config("id2label", {}), ["id2label"]),
    "labels-one": ("bert-tokens", config("id2label", {"0": "x"}), ["n_classes is 1"]),
    "problem-list": ("roberta-several", config("problem_type", ["regression"]), ["problem_type"]),
    "problem-single-of-one": ("roberta-regression", config("problem_type", "single_label_classification"), ["id2label", "at least 2"]),
    "yarn-no-factor": ("llama-yarn", config("rope_parameters", "factor", 0), ["rope_factor"]),
    "yarn-backwards": ("llama-yarn", config("rope_parameters", "attention_factor", -1), ["attention_factor"]),
    "yarn-no-length": ("llama-yarn", config("rope_parameters", "original_max_position_embeddings", 0), ["rope_original_length"]),
    "yarn-no-band": ("llama-yarn", config("rope_parameters", "beta_fast", 1), ["rope_high_freq_factor"]),
    "modules-limit-array": ("bert-sentence", put("sentence_bert_config.json", "[]"), ["sentence_bert_config.json"]),
    # GPT-NeoX and relatives, Gemma, Phi-3
    "neox-heads-many": ("gpt-neox-json", config("num_attention_heads", 2**31 - 1), ["config.json", "num_attention_heads is 2147483647", "at most 1000000"]),
    "neox-share-text": ("gpt-neox-json", rotary(partial_rotary_factor="half"), ["config.json", 'rope_parameters.partial_rotary_factor is "half"']),
    "neox-share-above": ("gpt-neox-json", rotary(partial_rotary_factor=1.5), ["config.json", "rope_parameters.partial_rotary_factor is 1.5"]),
    "neox-fused-shape": ("gpt-neox-json", header(lambda h: h["gpt_neox.layers.0.attention.query_key_value.weight"].update(shape=[32, 96])),
                         ["query_key_value.weight", "shape [32, 96], wanted [96, 32]"]),
    "neox-misfits": ("gpt-neox-json", settings_changed(hidden_act="mish", attention_bias="all", is_decoder="yes", rotary_emb_base=7),
                     ['hidden_act is "mish"', 'attention_bias is "all"', 'is_decoder is "yes"', "wanted what rotary_emb_base, rotary_pct and rope_scaling say"]),
    "phi-share-none": ("phi", rotary(partial_rotary_factor=0.1), ["config.json", "rope_parameters.partial_rotary_factor is 0.1", "no pair"]),
    "phi-heads-undivided": ("phi", settings_changed(num_attention_heads=5, num_key_value_heads=5), ["d_model = 32 is not a multiple of n_heads = 5"]),
    "phi-dropout-negative": ("phi", config("embd_pdrop", -0.5), ["config.json", "embd_pdrop is -0.5"]),
    "starcoder2-misfits": ("starcoder2", settings_changed(norm_type="rms", mlp_type="gated", scale_attn_weights=False, use_bias=1, sliding_window=-4),
                           ['norm_type is "rms"', 'mlp_type is "gated"', "scale_attn_weights is false", "use_bias is 1", "sliding_window is -4"]),
    "opt-misfits": ("opt-files", settings_changed(do_layer_norm_before=False, _remove_final_layer_norm=True, word_embed_proj_dim=16, layer_norm_elementwise_affine=False),
                    ["do_layer_norm_before is false", "_remove_final_layer_norm is true", "word_embed_proj_dim is 16", "layer_norm_elementwise_affine is false"]),
    "opt-bos-unknown": ("opt-files", language_settings(bos_token="<bos>"), ["tokenizer_config.json: bos_token"]),
    "opt-no-class": ("opt-files", drop("tokenizer_config.json"), ["vocab.json", "has <s> and </s>"]),
    "gemma-misfits": ("gemma", settings_changed(use_bidirectional_attention=True, hidden_activation="relu", layer_types=["full_attention", 7]),
                      ["use_bidirectional_attention is true", 'hidden_activation is "relu"', 'layer_types is ["full_attention",7]']),
    "gemma3-misfits": ("gemma3", settings_changed(attn_logit_softcapping=50.0, final_logit_softcapping=30.0, sliding_window=None, query_pre_attn_scalar=0,
                                                  layer_types=["sliding_attention"], rope_parameters={"sliding_attention": {"rope_type": "linear"}}),
                       ["attn_logit_softcapping is 50.0", "final_logit_softcapping is 30.0", "query_pre_attn_scalar is 0",
                        "for each of 3 layers", 'rope_parameters.sliding_attention.rope_type is "linear"']),
    "gemma3-window-none": ("gemma3", config("sliding_window", None), ["layers are of type sliding_attention", "there is no sliding_window"]),
    "llama-layers-word": ("llama", config("layer_types", "all"), ['layer_types is "all", wanted one type for all layers']),
    "gemma3-layers-many": ("gemma3-version-4", config("num_hidden_layers", 2**31 - 1), ["n_decoder_layers is 2147483647", "1 to 1000"]),
    "gemma3-pattern-none": ("gemma3-version-4", config("sliding_window_pattern", 0), ["config.json", "sliding_window_pattern is 0"]),
    "gemma3-base-0": ("gemma3-version-4", config("rope_local_base_freq", 0.5), ["rope_local_base"]),
    "gemma3-images": ("gemma3", config("model_type", "gemma3"), ["config.json", "text and images"]),
    "qwen2-layers-full": ("qwen2-window", config("max_window_layers", "all"), ["config.json", 'max_window_layers is "all"']),
    "olmo2-misfits": ("olmo2", settings_changed(hidden_act="mish", attention_bias="all", clip_qkv=8.0, layer_types=["full_attention", 7]),
                      ['hidden_act is "mish"', 'attention_bias is "all"', "clip_qkv = 8.0 is unknown", 'layer_types is ["full_attention",7]']),
    "phi3-misfits": ("phi3", settings_changed(attention_bias=True, embd_pdrop="0.1", rope_parameters=None, rope_scaling={"type": "longrope", "short_factor": [1.0] * 4}),
                     ["attention_bias is true", 'embd_pdrop is "0.1"', 'rope_scaling.type is "longrope"', "rope_scaling.short_factor = [1.0,1.0,1.0,1.0] is unknown"]),
    "phi3-fused-shape": ("phi3", header(lambda h: h["model.layers.0.mlp.gate_up_proj.weight"].update(shape=[48, 64])), ["gate_up_proj.weight", "shape [48, 64], wanted [96, 32]"]),
    # BART, mBART, M2M-100, NLLB
    "bart-misfits": ("bart", settings_changed(normalize_before=True, static_position_embeddings=True, add_bias_logits=True, normalize_embedding=False, pad_token_id=None),
                     ["normalize_before is true", "static_position_embeddings is true", "add_bias_logits is true", "normalize_embedding is false", "pad_token_id is null"]),
    "bart-start-beyond": ("bart", lambda files: [edit("decoder_start_token_id", 9999)(files) for edit in (config, generation)], ["config.json", "decoder_start_token_id is 9999"]),
    "bart-start-none": ("bart", config("decoder_start_token_id", -1), ["config.json", "decoder_start_token_id is -1"]),
    "bart-first-text": ("bart", generation("forced_bos_token_id", "en_XX"), ["generation_config.json/forced_bos_token_id", '"en_XX"']),
    "bart-model-no-class": ("bart", model_of("nllb", FAIRSEQ_MODEL), [FAIRSEQ_MODEL, "of which class"]),
    "mbart-first-beyond": ("mbart-languages", generation("forced_bos_token_id", 327), ["generation_config.json/forced_bos_token_id is 327", "below"]),
    "mbart-source-number": ("mbart-languages", language_settings(src_lang=7), ["tokenizer_config.json", "src_lang", "got 7"]),
    "mbart-no-ids": ("mbart-languages", put("tokenizer.json", '{"x": "added_tokens"}'), ["tokenizer.json/added_tokens", "no list"]),
    "m2m-heads-differ": ("m2m", config("decoder_attention_heads", 2), ["config.json", "decoder_attention_heads is 2, wanted 4"]),
    "m2m-pad-many": ("m2m", config("pad_token_id", 2**31 - 1), ["position_offset"]),
    "m2m-list-array": ("m2m", put("vocab.json", "[]"), ["vocab.json", "not a JSON object"]),
    "m2m-list-hole": ("m2m", change("vocab.json", lambda v: v.pop("he")), ["vocab.json", "no piece has the id 6"]),
    "m2m-codes-unknown": ("m2m", language_settings(language_codes=["en", "fr"]), ["tokenizer_config.json", "language_codes"]),
    "m2m-source-unknown": ("m2m", language_settings(src_lang="xx"), ["tokenizer_config.json", "src_lang is xx"]),
    "m2m-target-list": ("m2m", lambda files: [language_settings(tgt_lang=["fr"])(files), change("generation_config.json", lambda g: g.pop("forced_bos_token_id"))(files)],
                        ["tokenizer_config.json", "tgt_lang", '["fr"]']),
    "nllb-model-empty": ("nllb", put(FAIRSEQ_MODEL, ""), [FAIRSEQ_MODEL, "no SentencePiece model"]),
    "nllb-model-other": ("nllb", model_of("t5", "spiece.model"), [FAIRSEQ_MODEL, "its first pieces"]),
    "nllb-code-beyond": ("nllb", languages([(301, "eng_Latn"), (9_999_999, "fra_Latn")]), ["fra_Latn", "9999999"]),
    "nllb-code-negative": ("nllb", languages([(301, "eng_Latn"), (-302, "fra_Latn")]), ["tokenizer_config.json", "added_tokens_decoder", '"-302"']),
    "nllb-code-twice": ("nllb", languages([(301, "eng_Latn"), (302, "fra_Latn"), (303, "eng_Latn"), (304, "<mask>")]), ['are both "eng_Latn"']),
    "nllb-code-long": ("nllb", languages([("[" + "0," * 2_000_000 + "0]", "eng_Latn")]), ["tokenizer_config.json", "added_tokens_decoder", '"[0,0,']),
    "nllb-added-taken": ("nllb", put("added_tokens.json", '{"deu_Latn": 302}'), ["deu_Latn", "both have the id 302"]),
    "nllb-merges-apart": ("nllb-json", change("tokenizer.json", lambda t: t["model"]["merges"].append(t["model"]["merges"][0])), ["tokenizer.json/model/merges", "stand apart"]),
    "nllb-merges-unknown": ("nllb-json", tokenizer("model", "merges", 0, ["e", "zzz"]), ["tokenizer.json/model/merges", "zzz"]),
    "nllb-piece-long": ("nllb-json", tokenizer("model", "vocab", "e" * 10_000, 305), ["tokenizer.json/model/merges", "10000 bytes"]),
    # XLM-RoBERTa, CamemBERT, MPNet, ELECTRA
    "xlm-model-cut": ("xlm-roberta-model", binary(FAIRSEQ_MODEL, lambda data: data[:3000]), [FAIRSEQ_MODEL, "cannot be told apart"]),
    "xlm-model-normaliser": ("xlm-roberta-model", binary(FAIRSEQ_MODEL, charsmap_damaged), [FAIRSEQ_MODEL, "normalisations"]),
    "xlm-model-bytes": ("xlm-roberta-model", model_of("llama", "tokenizer.model"), [FAIRSEQ_MODEL, "bytes"]),
    "xlm-model-mask": ("xlm-roberta-model", binary(FAIRSEQ_MODEL, lambda data: data + b"\n\x0d\n\x06<mask>\x15\0\0\x80\xbf"), [FAIRSEQ_MODEL, 'are both "<mask>"']),
    "xlm-score-nan": ("xlm-roberta", tokenizer("model", "vocab", 9, 1, math.nan), ["tokenizer.json", "not a JSON object"]),
    "xlm-score-text": ("xlm-roberta", tokenizer("model", "vocab", 9, 1, "-2.5"), ["tokenizer.json/model/vocab", '"-2.5"']),
    "xlm-unknown-beyond": ("xlm-roberta", tokenizer("model", "unk_id", 9_999_999), ["tokenizer.json/model/unk_id", "9999999"]),
    "xlm-piece-long": ("xlm-roberta", tokenizer("model", "vocab", 9, 0, "e" * 1_000_000), ["tokenizer.json", "bytes"]),
    "xlm-piece-nul": ("xlm-roberta", tokenizer("model", "vocab", 9, 0, "a\0b"), ["tokenizer.json/model/vocab", "NUL"]),
    "xlm-table-beyond": ("xlm-roberta", change("tokenizer.json", lambda t: t["normalizer"].update(precompiled_charsmap=first_trie_units(t["normalizer"]["precompiled_charsmap"]))),
                         ["tokenizer.json", "normalisations"]),
    "camembert-pad-text": ("camembert-tokens", config("pad_token_id", "<pad>"), ["config.json", 'pad_token_id is "<pad>"']),
    "mpnet-misfits": ("mpnet", settings_changed(relative_attention_num_buckets=64, pad_token_id=5, hidden_act="relu"),
                      ["relative_attention_num_buckets is 64", "pad_token_id is 5", 'hidden_act is "relu"']),
    "mpnet-mask": ("mpnet", change("tokenizer.json", lambda t: [token.update(rstrip=True) for token in t["added_tokens"]]), ["tokenizer.json/added_tokens", "rstrip of <mask>"]),
    "modernbert-misfits": ("modernbert-masked", settings_changed(layer_types=[7, {}, "full_attention"], local_attention=-2, norm_bias=1, classifier_pooling="max",
                                                          rope_parameters={"full_attention": [], "sliding_attention": {"rope_theta": "x", "factor": 2}}),
                           ['layer_types is [7,{},"full_attention"]', "local_attention is -2", "norm_bias is 1", 'classifier_pooling is "max"',
                            "rope_parameters.full_attention is []", 'rope_parameters.sliding_attention.rope_theta is "x"', "factor = 2 is unknown"]),
    "modernbert-layers-many": ("modernbert-masked", settings_changed(num_hidden_layers=10 ** 9, global_attn_every_n_layers=10 ** 9, layer_types=None),
                               ["n_encoder_layers is 1000000000"]),
    "modernbert-fused-shape": ("modernbert-masked", header(lambda h: h["model.layers.0.mlp.Wi.weight"].update(shape=[37, 64])), ["mlp.Wi.weight", "shape [37, 64], wanted [74, 32]"]),
    "electra-width-0": ("electra-masked", config("embedding_size", 0), ["config.json", "embedding_size is 0"]),
}
BASES = {base for base, _, _ in CASES.values()} | {"gpt2-stale-ends", "sockeye-bfloat16", "sockeye-half-lengths", "gpt-neox-null-flag"}


def files_of(base):
    return dict(sound(base))


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content(path) if callable(content) else path.write_bytes(content)


def run(folder):
    """Status, what was said, seconds, bytes of memory."""
    start = time.monotonic()
    child = subprocess.Popen(["train", "-q", "--import", str(folder), "-o", "made.h5"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with child.stderr:
        said = child.stderr.read().decode("utf-8", "replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, said, time.monotonic() - start, usage.ru_maxrss * 1024


def in_child(work):
    """Done by another process: what a program is said to have taken counts what the process that starts it has."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("a folder could not be made")


def problems(name, base, wrong, words):
    folder = pathlib.Path("folders") / name

    def make():
        files = files_of(base)
        wrong(files)
        write(folder, files)

    in_child(make)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    status, said, seconds, memory = run(folder)
    if os.environ.get("VERBOSE"):
        print(f"{name}: {seconds:.2f} s, {(memory - size) >> 20} MB: {said.strip()[:300]}")
    wrongs = []
    if status != 1:
        wrongs.append(f"status {status}")
    if said.count("\n") != 1 or "\x1b" in said:
        wrongs.append("not one line")
    wrongs += [f"no \"{word}\"" for word in [str(folder), *words] if word not in said]
    if not SANITIZED and seconds > SECONDS:
        wrongs.append(f"{seconds:.1f} s")
    if not SANITIZED and memory > MEMORY + size:
        wrongs.append(f"{memory >> 20} MB for {size >> 20} MB")
    if os.path.exists("made.h5"):
        wrongs.append("a model was written")
        os.remove("made.h5")
    shutil.rmtree(folder)
    return f"{name}: {', '.join(wrongs)}: {said.strip()[:400]}" if wrongs else None


def main():
    for base in sorted(BASES):
        folder = pathlib.Path("folders") / base
        in_child(lambda: write(folder, files_of(base)))
        status, said, _, _ = run(folder)
        if status != 0:
            sys.exit(f"{base}: is not sound: {said}")
        pathlib.Path("made.h5").unlink(missing_ok=True)
        shutil.rmtree(folder)
    chosen = {name: case for name, case in CASES.items() if not sys.argv[1:] or name in sys.argv[1:]}
    found = list(filter(None, (problems(name, *case) for name, case in chosen.items())))
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{len(chosen) - len(found)} of {len(chosen)} folders are refused as they should be")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
