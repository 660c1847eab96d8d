"""Trains the tokenizer (unless OUT_DIRECTORY has one) and the base model from scratch.

Usage: python train-base.py OUT_DIRECTORY [--seconds 1200] [--seed 1] [--resume]
"""

import argparse
from itertools import count
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from voxtiny.adapter_load import load_base
from voxtiny.chatml import render
from voxtiny.conversations import draw_conversation
from voxtiny.documents import draw_document
from voxtiny.optimise import train
from voxtiny.packing import document_piece, pack
from voxtiny.tokenizer_files import VOX_SPLIT, train_byte_level_bpe, write_tokenizer_files

VOCABULARY = 2048
CONTEXT = 1024
ROW = 256  # tokens in most rows; later, every third step uses whole contexts, to train distant positions
TOKENS_PER_STEP = 2048


def configuration() -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=640,
        num_hidden_layers=5,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        bos_token_id=None,
        eos_token_id=[2, 0],
        pad_token_id=0,
        attn_implementation="eager",
    )


def train_tokenizer(random: Random) -> Tokenizer:
    sample = [draw_document(random) for _ in range(6000)]
    sample += [render(draw_conversation(random, "declarations")) for _ in range(2000)]
    return train_byte_level_bpe(sample, VOCABULARY, VOX_SPLIT)


def main(out: Path, seconds: float, seed: int, resume: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "tokenizer.json").exists():
        write_tokenizer_files(train_tokenizer(Random(seed)), out, CONTEXT)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))

    torch.manual_seed(seed)
    model = load_base(out) if resume else LlamaForCausalLM(configuration())
    print(f"{model.num_parameters():,} parameters", flush=True)
    random = Random(seed + 1)

    def draw() -> tuple[list[int], list[bool]]:
        return document_piece(tokenizer, draw_document(random))

    rows, contexts = (pack(draw, TOKENS_PER_STEP // length, length) for length in (ROW, CONTEXT))
    mixed = (next(contexts if step % 3 == 2 else rows) for step in count())
    phases = [(1.0, mixed)] if resume else [(0.65, rows), (1.0, mixed)]
    steps = train(model, phases, seconds=seconds, peak_rate=1.5e-3 if resume else 3e-3, use_muon=True)
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
    parser.add_argument(
        "--resume", action="store_true", help="continue from the weights in OUT_DIRECTORY; use another seed"
    )
    arguments = parser.parse_args()
    main(arguments.out, arguments.seconds, arguments.seed, arguments.resume)
