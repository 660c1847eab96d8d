"""Writes the GGUF fixtures of the inference engine with the PyPI package `gguf`.

Usage: python make-gguf.py FIXTURES [--f32 FOLDER]
FIXTURES is plugins/inference-onnx/test/fixtures. Reads FIXTURES/families and FIXTURES/tokenizers, and writes FIXTURES/gguf:
one model of each architecture, models with quantised matrices, vocabularies without tensors, and blocks of each encoding
with their values. Tensors are renamed, permuted and shifted as llama.cpp's convert_hf_to_gguf.py does it. `quantised.json` has the logits of transformers with the decoded weights
of the quantised models. With `--f32`, only writes the models with F32 matrices to FOLDER, for run-llama.mjs.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.convert_slow_tokenizer import generate_merges

sys.path.append(str(Path(__file__).parent.parent / "bundled-model"))
from voxtiny.random_weights import randomise  # noqa: E402

ARCHITECTURES = {
    "llama3": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "phi3-longrope": "phi3",
    "qwen3_5": "qwen35",
    "qwen3_5-square": "qwen35",
}
MODULES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
GEMMA_MODULES = {
    **MODULES,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
LINEAR_MODULES = {
    **MODULES,
    "post_attention_layernorm": "post_attention_norm",
    "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_b": "ssm_beta",
    "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.conv1d": "ssm_conv1d",
    "linear_attn.norm": "ssm_norm",
    "linear_attn.out_proj": "ssm_out",
}
VECTORS = {"linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt.bias"}
OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def tensor_name(name: str, architecture: str) -> str:
    stem, kind = name.rsplit(".", 1)
    if stem in OUTER:
        return f"{OUTER[stem]}.{kind}"
    _, _, layer, module = stem.split(".", 3)
    vector = f"{module}.{kind}"
    if vector in VECTORS:
        return f"blk.{layer}.{VECTORS[vector]}"
    modules = LINEAR_MODULES if architecture == "qwen35" else MODULES
    modules = GEMMA_MODULES if architecture.startswith("gemma") else modules
    return f"blk.{layer}.{modules[module]}.{kind}"


def interleave(weights: numpy.ndarray, heads: int) -> numpy.ndarray:
    shape = weights.shape
    return weights.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def tile(weights: numpy.ndarray, axis: int, config: dict, size: int) -> numpy.ndarray:
    """Puts the first value head of all key heads first, then the second, and so on."""
    key_heads, value_heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
    shape = weights.shape
    heads = (key_heads, value_heads // key_heads, size)
    weights = weights.reshape(*shape[:axis], *heads, *shape[axis + 1 :])
    return weights.swapaxes(axis, axis + 1).reshape(shape)


def convert_linear(name: str, values: numpy.ndarray, config: dict) -> numpy.ndarray:
    size = config["linear_value_head_dim"]
    keys = 2 * config["linear_num_key_heads"] * config["linear_key_head_dim"]
    module = name.split("linear_attn.")[-1]
    if module == "A_log":
        values = -numpy.exp(values)
    if module in ("in_proj_qkv.weight", "conv1d.weight"):
        values = values.squeeze()
        return numpy.concatenate([values[:keys], tile(values[keys:], 0, config, size)])
    if module == "in_proj_z.weight":
        return tile(values, 0, config, size)
    if module in ("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias"):
        return tile(values, 0, config, 1)
    if module == "out_proj.weight":
        return tile(values, 1, config, size)
    return values


def add_tokenizer(writer: gguf.GGUFWriter, definition: dict, pre: str | None) -> None:
    vocabulary = sorted(definition["model"]["vocab"].items(), key=lambda entry: entry[1])
    tokens = [token for token, _ in vocabulary]
    types = [1] * len(tokens)
    for added in definition["added_tokens"]:
        while len(tokens) <= added["id"]:
            tokens.append("")
            types.append(4)
        tokens[added["id"]] = added["content"] if pre else added["content"].replace("▁", " ")
        types[added["id"]] = 3 if added["special"] else 4
    writer.add_tokenizer_model("gpt2" if pre else "llama")
    if pre:
        writer.add_tokenizer_pre(pre)
        writer.add_token_merges([" ".join(pair) for pair in definition["model"]["merges"]])
    else:
        ranks = {}
        for rank, (left, right) in enumerate(definition["model"]["merges"]):
            ranks.setdefault(left + right, rank)
        scores = [-float(ranks.get(token, 0)) for token in tokens]
        for index, token in enumerate(tokens):
            if token.startswith("<0x") and types[index] == 1:
                types[index] = 6
        unknown = definition["model"]["unk_token"]
        types[tokens.index(unknown)] = 2
        writer.add_token_scores(scores)
        writer.add_unk_token_id(tokens.index(unknown))
    writer.add_token_list(tokens)
    writer.add_token_types(types)


def add_configuration(writer: gguf.GGUFWriter, architecture: str, config: dict) -> None:
    heads = config["num_attention_heads"]
    head_size = config.get("head_dim") or config["hidden_size"] // heads
    rope = config.get("rope_parameters") or {}
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope.get("rope_theta", config.get("rope_theta")))
    writer.add_rope_dimension_count(int(head_size * share))
    if "head_dim" in config:
        writer.add_key_length(head_size)
        writer.add_value_length(head_size)
    if architecture.startswith("gemma"):
        writer.add_sliding_window(config["sliding_window"])
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if architecture == "qwen35":
        linear = {name: config[f"linear_{name}"] for name in ("num_key_heads", "num_value_heads", "key_head_dim")}
        writer.add_rope_dimension_sections([3, 3, 2, 0])
        writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
        writer.add_ssm_state_size(linear["key_head_dim"])
        writer.add_ssm_group_count(linear["num_key_heads"])
        writer.add_ssm_time_step_rank(linear["num_value_heads"])
        writer.add_ssm_inner_size(config["linear_value_head_dim"] * linear["num_value_heads"])
        writer.add_full_attention_interval(config.get("full_attention_interval", 4))
    if architecture == "phi3":
        writer.add_sliding_window(config["sliding_window"] or 0)
    scaling = config.get("rope_scaling") or rope
    kind = scaling.get("rope_type")
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(scaling["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    size = int(head_size * share)
    if kind == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(rope, size))
    if kind == "longrope":
        original = config["original_max_position_embeddings"]
        scale = config["max_position_embeddings"] / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(1.0 if scale <= 1 else (1 + numpy.log(scale) / numpy.log(original)) ** 0.5)
        for name in ("long", "short"):
            writer.add_tensor(f"rope_factors_{name}.weight", numpy.array(scaling[f"{name}_factor"], numpy.float32))


def llama3_factors(rope: dict, size: int) -> numpy.ndarray:
    factors = []
    for frequency in 1.0 / rope["rope_theta"] ** (numpy.arange(0, size, 2, dtype=numpy.float64) / size):
        turns = rope["original_max_position_embeddings"] * frequency / (2 * numpy.pi)
        low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
        if turns > high:
            factors.append(1.0)
        elif turns < low:
            factors.append(factor)
        else:
            smooth = (turns - low) / (high - low)
            factors.append(1 / ((1 - smooth) / factor + smooth))
    return numpy.array(factors, numpy.float32)


def stored_type(values: numpy.ndarray, matrix_type: Type) -> Type:
    if values.ndim == 1:
        return Type.F32
    return matrix_type if values.shape[-1] % gguf.GGML_QUANT_SIZES[matrix_type][0] == 0 else Type.F16


def read_family(fixtures: Path, family: str) -> tuple[dict, dict]:
    """Returns configuration and tensors. llama.cpp requires keys and values of the same size, as in `qwen3_5-square`."""
    source = fixtures / "families" / family.removesuffix("-square")
    config = json.loads((source / "config.json").read_text())
    if not family.endswith("-square"):
        return config, load_file(source / "model.safetensors")
    config["linear_value_head_dim"] = config["linear_key_head_dim"]
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    randomise(model, seed=44, norm_centre=0)
    return config, model.to(torch.bfloat16).state_dict()


def write_model(fixtures: Path, family: str, out: Path, matrix_type: Type, split: int = 0) -> None:
    architecture = ARCHITECTURES[family]
    config, tensors = read_family(fixtures, family)
    writer = gguf.GGUFWriter(out, architecture, split_max_tensors=split)
    add_configuration(writer, architecture, config)
    tokenizer = json.loads((fixtures / "llama-tiny-bf16" / "tokenizer.json").read_text())
    settings = json.loads((fixtures / "llama-tiny-bf16" / "tokenizer_config.json").read_text())
    add_tokenizer(writer, tokenizer, "gpt-2")
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(settings["chat_template"])
    for name, tensor in tensors.items():
        values = tensor.to(torch.float32).numpy()
        if architecture == "llama" and ".q_proj." in name:
            values = interleave(values, config["num_attention_heads"])
        if architecture == "llama" and ".k_proj." in name:
            values = interleave(values, config["num_key_value_heads"])
        if architecture == "qwen35":
            values = convert_linear(name, values, config)
        centred = architecture.startswith("gemma") or architecture == "qwen35"
        if centred and name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
            values = values + 1
        stored = Type.F32 if "conv1d" in name else stored_type(values, matrix_type)
        if stored == Type.F32:
            writer.add_tensor(tensor_name(name, architecture), numpy.ascontiguousarray(values))
        else:
            writer.add_tensor(
                tensor_name(name, architecture),
                gguf.quants.quantize(numpy.ascontiguousarray(values), stored),
                raw_dtype=stored,
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


VOCABULARIES = {"llama2": None, "gemma": None, "llama3": "llama-bpe", "nemo": "tekken"}
BEGINNINGS = {"llama2": 1, "gemma": 2, "llama3": 0, "nemo": 1}


def write_vocabulary(fixtures: Path, name: str, texts: list[str]) -> list:
    """Writes a file without tensors, and returns the tokens that the package `tokenizers` computes."""
    definition = json.loads((fixtures / "tokenizers" / f"{name}.json").read_text())
    pre = VOCABULARIES[name]
    writer = gguf.GGUFWriter(fixtures / "gguf" / f"vocabulary-{name}.gguf", "llama")
    add_tokenizer(writer, definition, pre)
    writer.add_bos_token_id(BEGINNINGS[name])
    if name == "gemma":
        writer.add_add_space_prefix(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if pre is None:
        ranks = {}
        for rank, (left, right) in enumerate(definition["model"]["merges"]):
            ranks.setdefault(left + right, rank)
        normal = {
            token: index
            for token, index in definition["model"]["vocab"].items()
            if not token.startswith("<0x") and not any(token == added["content"] for added in definition["added_tokens"])
        }
        scores = {token: -float(ranks.get(token, 0)) for token in normal}
        definition["model"]["merges"] = [list(pair) for pair in generate_merges(normal, scores)]
        for added in definition["added_tokens"]:
            # As in llama.cpp, user-defined tokens are found in the text before spaces are replaced.
            added["content"] = added["content"] if added["special"] else added["content"].replace("▁", " ")
            definition["model"]["vocab"].setdefault(added["content"], added["id"])
    else:
        definition["model"]["ignore_merges"] = True
    reference = Tokenizer.from_str(json.dumps(definition))
    return [{"text": text, "tokens": reference.encode(text, add_special_tokens=False).ids} for text in texts]


def decoded_logits(fixtures: Path, family: str, matrix_type: Type) -> dict:
    """Returns the last logits of transformers, with the weights that remain after quantisation."""
    source = fixtures / "families" / family
    config = AutoConfig.from_pretrained(source)
    if family == "qwen2":
        config.use_sliding_window = False
        config.layer_types = ["full_attention"] * config.num_hidden_layers
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    weights = {}
    for name, tensor in load_file(source / "model.safetensors").items():
        values = numpy.ascontiguousarray(tensor.to(torch.float32).numpy())
        stored = stored_type(values, matrix_type)
        if stored != Type.F32:
            values = gguf.quants.dequantize(gguf.quants.quantize(values, stored), stored)
        weights[name] = torch.from_numpy(numpy.ascontiguousarray(values.astype(numpy.float32)))
    missing = model.load_state_dict(weights, strict=False).missing_keys
    assert set(missing) <= {"lm_head.weight"}, missing
    tokens = [(index * 37 + 11) % 297 + 3 for index in range(40)]
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0, -1]
    return {"tokens": tokens, "logits": [round(value, 6) for value in logits.tolist()]}


def write_blocks(folder: Path) -> None:
    """Writes random blocks of each encoding, and the values that the package decodes."""
    random = numpy.random.default_rng(15)
    index, stored, decoded = [], b"", b""
    names = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K Q2_K Q3_K IQ4_NL IQ4_XS".split()
    for name in names:
        weights, size = gguf.GGML_QUANT_SIZES[Type[name]]
        count = 512 // weights
        blocks = random.integers(0, 256, (count, size), dtype=numpy.uint8)
        halves = random.normal(0, 0.01, (count, 2)).astype(numpy.float16).view(numpy.uint8)
        # Scales and minima are at the start, except in these.
        width = 4 if name in ("Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K") else 2
        at = size - width if name in ("Q2_K", "Q3_K", "Q6_K") else 0
        blocks[:, at : at + width] = halves[:, :width]
        values = gguf.quants.dequantize(blocks.reshape(1, -1), Type[name]).astype(numpy.float32)
        index.append({"encoding": name, "offset": len(stored), "bytes": blocks.size, "weights": values.size})
        stored += blocks.tobytes()
        decoded += values.tobytes()
    (folder / "blocks.json").write_text(json.dumps(index) + "\n")
    (folder / "blocks.bin").write_bytes(stored)
    (folder / "blocks.values.bin").write_bytes(decoded)


def main() -> None:
    fixtures = Path(sys.argv[1])
    if sys.argv[2:3] == ["--f32"]:
        for family in ARCHITECTURES:
            write_model(fixtures, family, Path(sys.argv[3]) / f"{family}.gguf", Type.F32)
        return
    folder = fixtures / "gguf"
    folder.mkdir(exist_ok=True)
    for family in ARCHITECTURES:
        write_model(fixtures, family, folder / f"{family}.gguf", Type.BF16)
    write_model(fixtures, "qwen2", folder / "qwen2-q8_0.gguf", Type.Q8_0)
    write_model(fixtures, "qwen2", folder / "qwen2-q4_0.gguf", Type.Q4_0)
    write_model(fixtures, "llama3", folder / "llama3-q4_0.gguf", Type.Q4_0, split=40)
    quantised = {
        "qwen2-q8_0.gguf": decoded_logits(fixtures, "qwen2", Type.Q8_0),
        "qwen2-q4_0.gguf": decoded_logits(fixtures, "qwen2", Type.Q4_0),
        "llama3-q4_0-00001-of-00002.gguf": decoded_logits(fixtures, "llama3", Type.Q4_0),
    }
    (folder / "quantised.json").write_text(json.dumps(quantised) + "\n")
    expected = json.loads((fixtures / "tokenizers" / "expected.json").read_text())
    tokens = {
        name: write_vocabulary(fixtures, name, [case["text"] for case in expected[name]]) for name in VOCABULARIES
    }
    (folder / "tokens.json").write_text(json.dumps(tokens, ensure_ascii=False) + "\n")
    write_blocks(folder)


main()
