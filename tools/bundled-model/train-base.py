"""Trains the tokenizer and the base model from scratch.

Usage: python train-base.py OUT_DIRECTORY [--seconds 1200] [--seed 1]
"""

import argparse
from pathlib import Path
from random import Random

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from voxtiny.conversations import draw_conversation
from voxtiny.documents import draw_document
from voxtiny.chatml import render
from voxtiny.optimise import train
from voxtiny.packing import document_piece, pack
from voxtiny.tokenizer_files import train_byte_level_bpe, write_tokenizer_files

VOCABULARY = 2048
CONTEXT = 1024
ROW = 512  # tokens in a training row; the last tenth of the time uses whole contexts
TOKENS_PER_STEP = 4096


def configuration() -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=640, num_hidden_layers=5, num_attention_heads=8,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=CONTEXT, rms_norm_eps=1e-6, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0}, bos_token_id=None, eos_token_id=[2, 0],
        pad_token_id=0,
    )


def main(out: Path, seconds: float, seed: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    sampler = Random(seed)
    sample = [draw_document(sampler) for _ in range(6000)]
    sample += [render(draw_conversation(sampler, "declarations")) for _ in range(2000)]
    tokenizer = train_byte_level_bpe(sample, VOCABULARY)
    write_tokenizer_files(tokenizer, out, CONTEXT)

    torch.manual_seed(seed)
    model = LlamaForCausalLM(configuration())
    print(f"{model.num_parameters():,} parameters", flush=True)
    random = Random(seed + 1)

    def draw() -> tuple[list[int], list[bool]]:
        return document_piece(tokenizer, draw_document(random))

    steps = train(model, pack(draw, random, TOKENS_PER_STEP // ROW, ROW), seconds=0.9 * seconds, peak_rate=3e-3)
    steps += train(model, pack(draw, random, TOKENS_PER_STEP // CONTEXT, CONTEXT), seconds=0.1 * seconds, peak_rate=3e-4)
    print(f"{steps} steps, {steps * TOKENS_PER_STEP:,} tokens")
    model.generation_config.eos_token_id = [2, 0]
    model.generation_config.pad_token_id = 0
    model.half().save_pretrained(out)


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    main(arguments.out, arguments.seconds, arguments.seed)
