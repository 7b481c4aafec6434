"""Small sound folders of other programs' models, as {path in the folder: bytes}, made of testdata and of zeros."""
import functools
import io
import json
import math
import os
import pathlib
import struct
import zipfile

TESTDATA = pathlib.Path(os.environ["TESTDATA"])
D, D_FF, HEADS, POSITIONS = 4, 6, 2, 16


def dumped(value):
    return json.dumps(value).encode()


def safetensors(shapes, values=b""):
    """float32 tensors of these shapes: zeros, but for the first values."""
    header, end = {}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + 4 * math.prod(shape)]}
        end += 4 * math.prod(shape)
    text = dumped(header)
    return struct.pack("<Q", len(text)) + text + values + bytes(end - len(values))


def stored(folder):
    root = TESTDATA / "import" / folder
    return {str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*") if path.is_file() and not path.name.startswith("expect")}


def entries_of(weights):
    """The header of a file of safetensors."""
    size, = struct.unpack("<Q", weights[:8])
    return json.loads(weights[8:8 + size])


def of_rows(folder, rows):
    """A stored folder with as many rows for a vocabulary, of zeros."""
    files = stored(folder)
    config = json.loads(files["config.json"])
    shapes = {name: [rows if size == config["vocab_size"] else size for size in entry["shape"]]
              for name, entry in entries_of(files["model.safetensors"]).items() if name != "__metadata__"}
    return files | {"config.json": dumped(config | {"vocab_size": rows}), "model.safetensors": safetensors(shapes)}


def size_of(tokenizer):
    vocabulary = tokenizer["model"]["vocab"]
    pieces = vocabulary if isinstance(vocabulary, dict) else [piece for piece, _ in vocabulary]
    return len(set(pieces) | {token["content"] for token in tokenizer["added_tokens"]})


def gpt2(rows):
    shapes = {"wte.weight": (rows, D), "wpe.weight": (POSITIONS, D)}
    for name, shape in (("attn.c_attn", (D, 3 * D)), ("attn.c_proj", (D, D)), ("mlp.c_fc", (D, D_FF)), ("mlp.c_proj", (D_FF, D))):
        shapes |= {f"h.0.{name}.weight": shape, f"h.0.{name}.bias": shape[1:]}
    for name in "h.0.ln_1", "h.0.ln_2", "ln_f":
        shapes |= {name + ".weight": (D,), name + ".bias": (D,)}
    config = {"model_type": "gpt2", "vocab_size": rows, "n_embd": D, "n_head": HEADS, "n_layer": 1, "n_inner": D_FF,
              "n_positions": POSITIONS, "bos_token_id": 0, "eos_token_id": 0}
    return {"config.json": dumped(config), "model.safetensors": safetensors(shapes)}


def bert(rows):
    shapes = {"embeddings.word_embeddings.weight": (rows, D), "embeddings.position_embeddings.weight": (POSITIONS, D),
              "embeddings.token_type_embeddings.weight": (2, D)}
    layer = "encoder.layer.0."
    for name, shape in [(f"{layer}attention.self.{part}", (D, D)) for part in ("query", "key", "value")] + [
            (layer + "attention.output.dense", (D, D)), (layer + "intermediate.dense", (D_FF, D)), (layer + "output.dense", (D, D_FF))]:
        shapes |= {name + ".weight": shape, name + ".bias": shape[:1]}
    for name in "embeddings", layer + "attention.output", layer + "output":
        shapes |= {name + ".LayerNorm.weight": (D,), name + ".LayerNorm.bias": (D,)}
    config = {"model_type": "bert", "vocab_size": rows, "hidden_size": D, "num_attention_heads": HEADS, "num_hidden_layers": 1,
              "intermediate_size": D_FF, "max_position_embeddings": POSITIONS}
    return {"config.json": dumped(config), "model.safetensors": safetensors(shapes)}


def marian(rows, pad):
    shapes = {"model.shared.weight": (rows, D), "final_logits_bias": (1, rows)}
    for part, attentions in ("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"]):
        layer = f"model.{part}.layers.0."
        for attention in attentions:
            for name in "q_proj", "k_proj", "v_proj", "out_proj":
                shapes |= {f"{layer}{attention}.{name}.weight": (D, D), f"{layer}{attention}.{name}.bias": (D,)}
        for name, shape in ("fc1", (D_FF, D)), ("fc2", (D, D_FF)):
            shapes |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
        for name in attentions + ["final"]:
            shapes |= {f"{layer}{name}_layer_norm.weight": (D,), f"{layer}{name}_layer_norm.bias": (D,)}
    config = {"model_type": "marian", "vocab_size": rows, "d_model": D, "encoder_layers": 1, "decoder_layers": 1,
              "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "encoder_ffn_dim": D_FF, "decoder_ffn_dim": D_FF,
              "max_position_embeddings": POSITIONS, "eos_token_id": 0, "pad_token_id": pad, "decoder_start_token_id": pad}
    return {"config.json": dumped(config), "model.safetensors": safetensors(shapes)}


def t5(rows):
    shapes = {"shared.weight": (rows, D)}
    for part in "encoder", "decoder":
        block = part + ".block.0.layer."
        attentions = ["0.SelfAttention"] + ["1.EncDecAttention"] * (part == "decoder")
        for name in attentions:
            shapes |= {f"{block}{name}.{letter}.weight": (D, D) for letter in "qkvo"}
        shapes[block + "0.SelfAttention.relative_attention_bias.weight"] = (32, HEADS)
        last = len(attentions)
        shapes |= {f"{block}{last}.DenseReluDense.wi.weight": (D_FF, D), f"{block}{last}.DenseReluDense.wo.weight": (D, D_FF)}
        shapes |= {f"{block}{n}.layer_norm.weight": (D,) for n in range(last + 1)}
        shapes[part + ".final_layer_norm.weight"] = (D,)
    config = {"model_type": "t5", "vocab_size": rows, "d_model": D, "d_kv": D // HEADS, "d_ff": D_FF, "num_layers": 1, "num_heads": HEADS,
              "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    return {"config.json": dumped(config), "model.safetensors": safetensors(shapes)}


def members(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(contents, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in contents.items():
            file.writestr(zipfile.ZipInfo(name), content, method, compresslevel=1)
    return out.getvalue()


def pickled_text(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def pickled_number(value):
    return b"\x8a\x08" + struct.pack("<q", value)


def pickled_sizes(sizes):
    return b"(" + b"".join(map(pickled_number, sizes)) + b"t"


def pickled(name="w", storage="FloatStorage", key="0", elements=4, offset=0, shape=(4,), strides=(1,), more=b""):
    """A name and a tensor, as torch.save pickles an entry of a state dict."""
    place = b"(" + pickled_text("storage") + b"ctorch\n" + storage.encode() + b"\n" + pickled_text(key) + pickled_text("cpu")
    place += pickled_number(elements) + b"tQ"
    arguments = place + pickled_number(offset) + pickled_sizes(shape) + pickled_sizes(strides) + b"\x89ccollections\nOrderedDict\n)R" + more
    return pickled_text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"


def state_dict(*entries):
    return b"\x80\x02}(" + b"".join(entries) + b"u."


def checkpoint_of(weights):
    """A file of safetensors as torch.save writes its tensors, of zeros."""
    entries, contents = [], {}
    for key, (name, entry) in enumerate(entries_of(weights).items()):
        shape = entry["shape"]
        strides = [math.prod(shape[axis + 1:]) for axis in range(len(shape))]
        entries.append(pickled(name, key=str(key), elements=math.prod(shape), shape=shape, strides=strides))
        contents[f"p/data/{key}"] = bytes(4 * math.prod(shape))
    return zipped({"p/data.pkl": state_dict(*entries)} | contents)


def in_bfloat16(archive):
    """A checkpoint of float32 tensors, rounded."""
    contents = members(archive)
    for name, content in contents.items():
        if "/data/" in name:
            numbers = struct.unpack(f"<{len(content) // 4}I", content)
            rounded = [(bits + 0x7FFF + (bits >> 16 & 1)) >> 16 for bits in numbers]
            contents[name] = struct.pack(f"<{len(rounded)}H", *rounded)
        elif name.endswith("/data.pkl"):
            contents[name] = content.replace(b"FloatStorage", b"BFloat16Storage")
    return zipped(contents)


def npy(content):
    """int8, as Marian stores its settings."""
    header = "{'descr': '|i1', 'fortran_order': False, 'shape': (%d,), }" % len(content)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content


def settings(archive):
    text = members(archive)["special:model.yml.npy"]
    return text[text.index(b"}") + 1:].lstrip(b" \n").rstrip(b"\0")


def with_settings(archive, text):
    return zipped(members(archive) | {"special:model.yml.npy": npy(text)})


def with_tokenizer(model, name):
    text = (TESTDATA / "tokenizers" / name).read_bytes()
    return model(size_of(json.loads(text))) | {"tokenizer.json": text}


def with_sentencepiece(model, name, size):
    root = TESTDATA / "sentencepiece" / name
    return model(size) | {path.name: path.read_bytes() for path in root.iterdir()}


STORED_WITH = {"gpt-neox-json": ("gpt-neox", "neox.json"), "xlm-roberta": ("xlm-roberta-masked", "xlm-roberta.json"), "mpnet": ("mpnet-masked", "mpnet.json")}


@functools.cache
def sound(name):
    if name == "gpt2":
        return with_tokenizer(gpt2, "gpt2.json")
    if name == "gpt2-pickled":
        files = dict(sound("gpt2"))
        files["pytorch_model.bin"] = checkpoint_of(files.pop("model.safetensors"))
        return files
    if name == "gpt2-stale-ends":
        files = sound("gpt2")
        return files | {"config.json": dumped(json.loads(files["config.json"]) | {"eos_token_id": [0, 9_999_999]})}
    if name == "sockeye-bfloat16":
        files = stored("sockeye")
        return files | {"params.best": in_bfloat16(files["params.best"])}
    if name == "sockeye-half-lengths":
        files = stored("sockeye-half")
        return files | {"config": files["config"].replace(b"max_seq_len_source: 40", b"max_seq_len_source: 80")}
    if name == "gpt2-files":
        model = json.loads((TESTDATA / "tokenizers/gpt2.json").read_bytes())["model"]
        merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
        return gpt2(len(model["vocab"])) | {"vocab.json": dumped(model["vocab"]), "merges.txt": "\n".join(merges).encode()}
    if name == "bert":
        return with_tokenizer(bert, "bert.json")
    if name == "bert-files":
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##n", "old"]
        return bert(len(pieces)) | {"vocab.txt": "\n".join(pieces).encode(), "tokenizer_config.json": b'{"do_lower_case": true}'}
    if name == "marian":
        size = len(json.loads((TESTDATA / "sentencepiece/marian/vocab.json").read_bytes()))
        return with_sentencepiece(lambda rows: marian(rows, rows - 1), "marian", size)
    if name == "t5":
        return with_sentencepiece(t5, "t5", 1000)
    if name == "unigram":
        text = (TESTDATA / "tokenizers/t5.json").read_bytes()
        return t5(len(json.loads(text)["model"]["vocab"])) | {"tokenizer.json": text}
    if name in STORED_WITH:
        folder, vocabulary = STORED_WITH[name]
        return with_tokenizer(functools.partial(of_rows, folder), vocabulary)
    if name == "gpt-neox-null-flag":
        files = dict(sound("gpt-neox-json"))
        tokenizer = json.loads(files["tokenizer.json"])
        tokenizer["added_tokens"][-1]["special"] = None
        return files | {"tokenizer.json": dumped(tokenizer)}
    if name == "xlm-roberta-model":
        return with_sentencepiece(functools.partial(of_rows, "xlm-roberta-masked"), "xlm-roberta", 302)
    if name == "opt-files":
        vocabulary = json.loads((TESTDATA / "tokenizers/opt.json").read_bytes())
        merges = [" ".join(merge) for merge in vocabulary["model"]["merges"]]
        config = {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "</s>"}
        return of_rows("opt", size_of(vocabulary)) | {"vocab.json": dumped(vocabulary["model"]["vocab"]), "merges.txt": "\n".join(merges).encode(),
                                                      "tokenizer_config.json": dumped(config)}
    if name == "m2m":
        return with_sentencepiece(functools.partial(of_rows, "nllb"), "m2m", 409)
    if name == "mbart-languages":
        return with_sentencepiece(functools.partial(of_rows, "mbart"), "mbart", 327)
    if name == "nllb-languages":
        return with_sentencepiece(functools.partial(of_rows, "nllb"), "nllb", 305)
    if name == "nllb-json":
        files = dict(sound("nllb-languages"))
        files.pop("sentencepiece.bpe.model")
        return files
    if name == "npz":
        archive = stored("marian-npz-post")["model.npz"]
        rows = 61
        vocabulary = ["</s>: 0", "<unk>: 1"] + [f'"w{i}": {i}' for i in range(2, rows)]
        return {"model.npz": archive, "decoder.yml": b"vocabs:\n  - /elsewhere/vocab.yml\n  - vocab.yml\nbeam-size: 2\n",
                "vocab.yml": "\n".join(vocabulary).encode() + b"\n"}
    if name == "student":
        return stored("marian-binary-int8")
    return stored(name)
