"""Writes adapters in PEFT's format for the engine's tiny test models, with the logits that PEFT computes in fp32.

Usage: python make-peft.py FIXTURES_DIRECTORY
"""

import json
import sys
from pathlib import Path

import numpy
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

from voxtiny.random_weights import randomise

GREEDY_TOKENS = 12
ADAPTERS = {
    # BF16 base, so the engine joins its projections. Ranks and alphas differ by layer and module.
    "patterns": (
        "llama-tiny-bf16",
        torch.float32,
        LoraConfig(
            r=4,
            lora_alpha=6,
            use_rslora=True,
            target_modules=["q_proj", "v_proj", "gate_proj", "down_proj", "lm_head"],
            rank_pattern={"down_proj": 2, r"layers\.1\.self_attn\.q_proj": 7},
            alpha_pattern={"gate_proj": 11, "lm_head": 3},
        ),
    ),
    # The same base with adapters on all linear layers, stored in half precision.
    "all-linear": ("llama-tiny-bf16", torch.bfloat16, LoraConfig(r=3, lora_alpha=6, target_modules="all-linear")),
    # F32 base, which is memory-mapped, so its projections stay separate. Target modules are a regular expression.
    "expression": (
        "qwen2-tiny",
        torch.float32,
        LoraConfig(r=2, lora_alpha=4, target_modules=r".*\.(k_proj|o_proj|up_proj)"),
    ),
    # A checkpoint whose projections are already joined.
    "joined": (
        "families/phi3",
        torch.float32,
        LoraConfig(r=3, lora_alpha=5, target_modules=["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
    ),
    # Linear attention, and attention whose query projection contains a gate.
    "linear": (
        "families/qwen3_5",
        torch.float32,
        LoraConfig(
            r=3,
            lora_alpha=5,
            target_modules=["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj", "q_proj", "up_proj"],
        ),
    ),
}


def forward(model: torch.nn.Module, tokens: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].float()


def greedy(model: torch.nn.Module, tokens: list[int]) -> list[int]:
    sequence = list(tokens)
    for _ in range(GREEDY_TOKENS):
        sequence.append(int(forward(model, sequence)[-1].argmax()))
    return sequence[len(tokens) :]


def main(fixtures: Path) -> None:
    out = fixtures / "peft"
    expected, blocks, offset = [], [], 0
    for name, (base, dtype, config) in ADAPTERS.items():
        config.task_type = "CAUSAL_LM"
        model = get_peft_model(AutoModelForCausalLM.from_pretrained(fixtures / base, dtype=torch.float32), config)
        randomise(model, seed=len(name), only="lora_")
        model.to(dtype).save_pretrained(out / name, save_embedding_layers=False)
        (out / name / "README.md").unlink()
        path = out / name / "adapter_config.json"
        document = json.loads(path.read_text()) | {"base_model_name_or_path": base}
        if isinstance(document["target_modules"], list):
            document["target_modules"].sort()
        path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
        path.chmod(0o644)
        (out / name / "adapter_model.safetensors").chmod(0o644)

        plain = AutoModelForCausalLM.from_pretrained(fixtures / base, dtype=torch.float32, attn_implementation="eager")
        reference = PeftModel.from_pretrained(plain, out / name).float().eval()
        tokens = [3 + (i * 37 + 11) % 280 for i in range(14)]
        logits = forward(reference, tokens).numpy().astype("<f4")
        expected.append(
            {"name": name, "runDirectory": base, "tokens": tokens, "offset": offset, "greedy": greedy(reference, tokens)}
        )
        blocks.append(logits.ravel())
        offset += logits.size
    (out / "expected.json").write_text(json.dumps({"adapters": expected}, separators=(",", ":")) + "\n")
    numpy.concatenate(blocks).tofile(out / "logits.bin")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]).resolve())
