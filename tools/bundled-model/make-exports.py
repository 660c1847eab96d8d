"""Writes the checkpoint for the engine's exported test models, and the expected results of the exports.

Usage: python make-exports.py checkpoint CHECKPOINT TOKENIZER_FOLDER
       python make-exports.py expect CHECKPOINT EXPORT...
Between the two commands, onnxruntime-genai and Optimum export the checkpoint; README.md has the commands. `expect` writes
EXPORT/expected.json and EXPORT/logits.bin. For a quantised export, onnxruntime computes them with the exported graph; for the
others, transformers computes them in fp32.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from voxtiny.random_weights import randomise

LAYERS, KEY_VALUE_HEADS, HEAD_SIZE = 2, 1, 16
PROMPT, GREEDY_TOKENS = 40, 16
POSITIONS = [0, 1, 15, 16, 17, 39]


def write_checkpoint(out: Path, tokenizer: Path) -> None:
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        num_key_value_heads=KEY_VALUE_HEADS,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config)
    randomise(model, seed=77)
    model.save_pretrained(out)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer / name, out / name)


def forward_of(checkpoint: Path, export: Path):
    if not export.name.endswith("int4"):
        model = AutoModelForCausalLM.from_pretrained(checkpoint, attn_implementation="eager").eval()

        @torch.no_grad()
        def compute(tokens: list[int]) -> numpy.ndarray:
            return model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].numpy()

        return compute

    import onnxruntime

    session = onnxruntime.InferenceSession(str(export / "model.onnx"))
    empty = numpy.zeros((1, KEY_VALUE_HEADS, 0, HEAD_SIZE), dtype=numpy.float32)
    past = {f"past_key_values.{layer}.{half}": empty for layer in range(LAYERS) for half in ("key", "value")}

    def run(tokens: list[int]) -> numpy.ndarray:
        ids = numpy.array([tokens])
        return session.run(["logits"], {"input_ids": ids, "attention_mask": numpy.ones_like(ids), **past})[0][0]

    return run


def expect(checkpoint: Path, export: Path) -> None:
    forward = forward_of(checkpoint, export)
    tokens = torch.randint(3, 300, (PROMPT,), generator=torch.Generator().manual_seed(5)).tolist()
    logits = forward(tokens)[POSITIONS].astype("<f4")
    sequence = list(tokens)
    for _ in range(GREEDY_TOKENS):
        sequence.append(int(forward(sequence)[-1].argmax()))
    document = {"tokens": tokens, "positions": POSITIONS, "greedy": sequence[PROMPT:]}
    (export / "expected.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")
    logits.tofile(export / "logits.bin")


if __name__ == "__main__":
    torch.set_num_threads(1)
    command, checkpoint, *rest = sys.argv[1:]
    if command == "checkpoint":
        write_checkpoint(Path(checkpoint), Path(rest[0]))
    else:
        for export in rest:
            expect(Path(checkpoint), Path(export).resolve())
