"""Writes a tiny random model of each family, with the results of transformers in fp32, for tests of the engine.

Windows and original contexts are shorter than the prompts, so that each layer's kind of attention affects the logits.
Usage: python make-families.py OUT_DIRECTORY [NAME...]
"""

import json
import sys
from pathlib import Path

import numpy
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3_5TextConfig,
    Qwen3Config,
)

from voxtiny.random_weights import randomise

VOCABULARY = 300
WINDOW = 8
CONTEXT = 128
ORIGINAL_CONTEXT = 16
GREEDY_TOKENS = 16
LONG_PROMPT = 40
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
HEAD = {"head_dim": 16}

FAMILIES: dict[str, PreTrainedConfig] = {
    "llama3": LlamaConfig(
        **SHAPE,
        **HEAD,
        tie_word_embeddings=True,
        attention_bias=True,
        mlp_bias=True,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 10_000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": ORIGINAL_CONTEXT,
        },
    ),
    "mistral": MistralConfig(**SHAPE, **HEAD, sliding_window=WINDOW),
    "qwen2": Qwen2Config(
        **SHAPE | {"num_attention_heads": 2, "num_key_value_heads": 1},
        use_sliding_window=True,
        sliding_window=WINDOW,
        max_window_layers=2,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10_000.0,
            "factor": 4.0,
            "original_max_position_embeddings": ORIGINAL_CONTEXT * 2,
        },
    ),
    "qwen3": Qwen3Config(
        **SHAPE, head_dim=32, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6}
    ),
    "qwen3_5": Qwen3_5TextConfig(
        **SHAPE,
        head_dim=64,
        linear_conv_kernel_dim=4,
        linear_key_head_dim=16,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
    ),
    "gemma2": Gemma2Config(
        **SHAPE,
        **HEAD,
        sliding_window=WINDOW,
        query_pre_attn_scalar=24,
        attn_logit_softcapping=4.0,
        final_logit_softcapping=6.0,
    ),
    "gemma3": Gemma3TextConfig(
        **SHAPE | {"num_hidden_layers": 6},
        **HEAD,
        sliding_window=WINDOW,
        query_pre_attn_scalar=24,
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    ),
    "phi3": Phi3Config(
        **SHAPE | {"num_attention_heads": 2, "num_key_value_heads": 1},
        sliding_window=WINDOW,
        original_max_position_embeddings=CONTEXT,
    ),
    "phi3-longrope": Phi3Config(
        **SHAPE | {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1},
        tie_word_embeddings=True,
        original_max_position_embeddings=ORIGINAL_CONTEXT,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": 0.5,
            "short_factor": [1 + 0.1 * pair for pair in range(8)],
            "long_factor": [1 + 0.9 * pair for pair in range(8)],
        },
    ),
}


def spell_as_older(document: dict) -> None:
    """Returns the configuration with older fields instead of `rope_parameters`, as most published checkpoints have."""
    parameters = document.pop("rope_parameters")
    document["torch_dtype"] = document.pop("dtype")
    if "full_attention" in parameters:
        document.pop("layer_types")
        document["sliding_window_pattern"] = 6
        document["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"]
        parameters = parameters["full_attention"]
    document["rope_theta"] = parameters.pop("rope_theta")
    document["partial_rotary_factor"] = parameters.pop("partial_rotary_factor", 1.0)
    parameters.pop("original_max_position_embeddings", None)
    document["rope_scaling"] = parameters if parameters["rope_type"] != "default" else None


def tokens_of(seed: int, length: int) -> list[int]:
    return torch.randint(3, VOCABULARY, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def positions_of(length: int) -> list[int]:
    """Returns positions to compare: around the end of the window, the first, the last and some between."""
    return sorted({0, 1, WINDOW - 1, WINDOW, WINDOW + 1, length // 2, length - 1} & set(range(length)))


@torch.no_grad()
def forward(model: torch.nn.Module, tokens: list[int]) -> torch.Tensor:
    return model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]


def greedy(model: torch.nn.Module, tokens: list[int]) -> list[int]:
    """Decodes greedily without a KV cache. Does not stop at end tokens."""
    sequence = list(tokens)
    for _ in range(GREEDY_TOKENS):
        sequence.append(int(forward(model, sequence)[-1].argmax()))
    return sequence[len(tokens) :]


def write(name: str, config: PreTrainedConfig, out: Path) -> None:
    directory = out / name
    model = AutoModelForCausalLM.from_config(config)
    randomise(model, seed=len(name) + 40, norm_centre=0 if name.startswith(("gemma", "qwen3_5")) else 1)
    model.to(torch.bfloat16).save_pretrained(directory)
    (directory / "generation_config.json").unlink()
    path = directory / "config.json"
    document = json.loads(path.read_text())
    if name in ("gemma3", "phi3-longrope", "mistral"):
        spell_as_older(document)
    path.write_text(json.dumps(document, indent=2) + "\n")

    reference = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager").eval()
    prompts = {"long": (tokens_of(1, LONG_PROMPT), None)}
    if name == "phi3-longrope":
        prompts["short"] = (tokens_of(2, ORIGINAL_CONTEXT - 4), ORIGINAL_CONTEXT)
    blocks, expected = [], []
    for prompt, (tokens, context) in prompts.items():
        positions = positions_of(len(tokens))
        blocks.append(forward(reference, tokens)[positions].numpy().astype("<f4"))
        expected.append(
            {
                "name": prompt,
                "maxContext": context,
                "tokens": tokens,
                "positions": positions,
                "greedy": greedy(reference, tokens)[: (context or CONTEXT) - len(tokens)],
            }
        )
    (directory / "expected.json").write_text(json.dumps({"prompts": expected}, separators=(",", ":")) + "\n")
    numpy.concatenate([block.ravel() for block in blocks]).tofile(directory / "logits.bin")


def main(out: Path, names: list[str]) -> None:
    for name in names or FAMILIES:
        write(name, FAMILIES[name], out)
        for file in (out / name).iterdir():
            file.chmod(0o644)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
