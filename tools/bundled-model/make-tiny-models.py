"""Writes two run directories with random weights, small enough to commit, for tests of the inference engine.

They deliberately differ in family, dtype, sharding, tied head, rotary base, head size, norm epsilon, tokenizer style and
field names of config.json. Usage: python make-tiny-models.py OUT_DIRECTORY
"""

import json
import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

from voxtiny.adapter_file import PROJECTIONS, write_adapter_files
from voxtiny.random_weights import randomise
from voxtiny.tokenizer_files import QWEN2_SPLIT, train_byte_level_bpe, write_tokenizer_files

VOCABULARY = 300
CONTEXT = 256
SAMPLE_TEXT = [
    "@table type Task {\n  title: str\n  done: bool\n}",
    "@query fn list_tasks() to List[Task] {\n  return db.Task.all()\n}",
    "Make a table of tasks with a title and whether it is done. It's 2026, isn't it?",
]


def save(model: PreTrainedModel, directory: Path, shard_size: str) -> None:
    model.generation_config.eos_token_id = model.config.eos_token_id
    model.generation_config.pad_token_id = 0
    model.save_pretrained(directory, max_shard_size=shard_size)


def write_qwen2(directory: Path) -> None:
    """Writes an F32 model in two shards, with tied head, biases on q, k and v, and config.json as of transformers 4."""
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=160,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        bos_token_id=None,
        eos_token_id=[2, 0],
        use_sliding_window=False,
    )
    model = Qwen2ForCausalLM(config)
    randomise(model, seed=20)
    save(model, directory, "230KB")
    write_tokenizer_files(train_byte_level_bpe(SAMPLE_TEXT, VOCABULARY, QWEN2_SPLIT, nfc=True), directory, CONTEXT)
    path = directory / "config.json"
    document = json.loads(path.read_text())
    document["rope_theta"] = document.pop("rope_parameters")["rope_theta"]
    document["torch_dtype"] = document.pop("dtype")
    path.write_text(json.dumps(document, indent=2) + "\n")


def write_llama(directory: Path) -> None:
    """Writes a BF16 model in one file: untied head, head size other than hidden / heads, adapter on all layers."""
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
        bos_token_id=None,
        eos_token_id=2,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config)
    randomise(model, seed=30)
    save(model.to(torch.bfloat16), directory, "10MB")
    write_tokenizer_files(train_byte_level_bpe(SAMPLE_TEXT, VOCABULARY), directory, CONTEXT)
    adapted = get_peft_model(
        model.float(), LoraConfig(r=4, lora_alpha=6, target_modules=[*PROJECTIONS, "lm_head"], task_type="CAUSAL_LM")
    )
    randomise(adapted, seed=31, only="lora_")
    write_adapter_files(adapted, directory, "llama-tiny-bf16", "Apache-2.0", "Random weights for tests.")


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = Path(sys.argv[1])
    for name, write in (("qwen2-tiny", write_qwen2), ("llama-tiny-bf16", write_llama)):
        (out / name).mkdir(parents=True, exist_ok=True)
        write(out / name)
        for file in (out / name).iterdir():
            file.chmod(0o644)
