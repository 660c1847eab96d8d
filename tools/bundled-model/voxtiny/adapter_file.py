"""Writes the adapter files of a run directory from a PEFT model: tensors, manifest, serving handoff."""

import json
import re
from pathlib import Path

import torch
from peft import PeftModel
from safetensors.torch import save_file

ADAPTER_FILE = "candle_qlora_adapter.safetensors"
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
_FACTOR = re.compile(
    r"base_model\.model\.(?P<module>(?:model\.layers\.(?P<layer>\d+)\.\w+\.(?P<projection>\w+)_proj)|lm_head)"
    r"\.lora_(?P<factor>[AB])\.default\.weight"
)


def collect_factors(model: PeftModel) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Returns the LoRA factors under their names in the run directory, and a map from label to base tensor.

    `<label>.lora_a.weight` is [rank, in], `<label>.lora_b.weight` is [out, rank], both F32.
    """
    tensors: dict[str, torch.Tensor] = {}
    base_key_map: dict[str, str] = {}
    for name, value in model.named_parameters():
        match = _FACTOR.fullmatch(name)
        if match is None:
            continue
        label = "lm_head" if match["layer"] is None else f"l{match['layer']}.{match['projection']}"
        tensors[f"{label}.lora_{match['factor'].lower()}.weight"] = value.detach().float().contiguous().clone()
        base_key_map[label] = match["module"] + ".weight"
    return tensors, base_key_map


def write_adapter_files(model: PeftModel, directory: Path, base_model: str, licence: str, notes: str) -> None:
    """Writes the adapter, adapter_manifest.json and external_serving_handoff_v1.json."""
    tensors, base_key_map = collect_factors(model)
    save_file(tensors, directory / ADAPTER_FILE, metadata={"format": "pt"})
    lora, config = model.peft_config["default"], model.config
    manifest = {
        "format": "vox_mens_adapter",
        "version": 3,
        "adapter_method": "lora",
        "quant": {"base_quant": "none", "double_quant": False},
        "base_key_map": base_key_map,
        "layer_order": list(base_key_map),
        "vocab": config.vocab_size,
        "d_model": config.hidden_size,
        "rank": lora.r,
        "alpha": lora.lora_alpha,
        "base_model": base_model,
        "provenance": {
            "base_family": config.model_type,
            "upstream_model_id": base_model,
            "license_class": licence,
            "attribution_required": False,
        },
    }
    handoff = {
        "schema": "vox_external_serving_handoff_v1",
        "schema_version": 1,
        "backend_family": "openai-compatible",
        "base_model": base_model,
        "tokenizer_source": "tokenizer.json",
        "artifact_dir": ".",
        "prompt_format": "qwen_chatml_im_start",
        "adapter_path": ADAPTER_FILE,
        "openai_base_url": None,
        "notes": notes,
    }
    for name, document in (("adapter_manifest.json", manifest), ("external_serving_handoff_v1.json", handoff)):
        (directory / name).write_text(json.dumps(document, indent=2) + "\n")
