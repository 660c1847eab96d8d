"""Loads the adapter of a run directory into PEFT, so that fixtures are computed from the files that ship."""

import json
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, PreTrainedModel

from .adapter_file import ADAPTER_FILE


def load_base(directory: Path) -> PreTrainedModel:
    """Returns the base model in fp32. Its weights may be stored in another type."""
    return AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager").eval()


def load_adapted(directory: Path) -> PeftModel | None:
    """Returns the base with its adapter as an unmerged PEFT model, or None if the directory has no adapter."""
    if not (directory / ADAPTER_FILE).exists():
        return None
    manifest = json.loads((directory / "adapter_manifest.json").read_text())
    modules = {label: key.removesuffix(".weight") for label, key in manifest["base_key_map"].items()}
    lora = LoraConfig(
        r=manifest["rank"],
        lora_alpha=manifest["alpha"],
        target_modules=sorted({module.rsplit(".", 1)[-1] for module in modules.values()}),
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(load_base(directory), lora)
    parameters = dict(model.named_parameters())
    factors = load_file(directory / ADAPTER_FILE)
    with torch.no_grad():
        for label, module in modules.items():
            for factor in "ab":
                name = f"base_model.model.{module}.lora_{factor.upper()}.default.weight"
                parameters[name].copy_(factors[f"{label}.lora_{factor}.weight"])
    return model.eval()
