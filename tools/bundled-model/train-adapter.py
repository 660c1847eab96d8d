"""Trains the LoRA adapter on chats that are answered with declarations, and writes it in the format of run directories.

Usage: python train-adapter.py RUN_DIRECTORY [--seconds 900] [--seed 2]
"""

import argparse
from pathlib import Path
from random import Random

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer

from voxtiny.adapter_file import PROJECTIONS, write_adapter_files
from voxtiny.adapter_load import load_base
from voxtiny.conversations import draw_conversation
from voxtiny.optimise import train
from voxtiny.packing import conversation_piece, pack

RANK, ALPHA = 16, 32
ROW, LONG_ROW = 256, 768  # tokens in a row; the last part of the training uses long rows, for chats of several turns
TOKENS_PER_STEP = 2304


def main(directory: Path, seconds: float, seed: int) -> None:
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    torch.manual_seed(seed)
    model = get_peft_model(
        load_base(directory),
        LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=PROJECTIONS, task_type="CAUSAL_LM"),
    )
    model.print_trainable_parameters()
    random = Random(seed)

    def draw() -> tuple[list[int], list[bool]]:
        return conversation_piece(tokenizer, draw_conversation(random, "declarations"))

    short, long = (pack(draw, TOKENS_PER_STEP // length, length) for length in (ROW, LONG_ROW))
    steps = train(model, [(0.85, short), (1.0, long)], seconds=seconds, peak_rate=2e-3)
    print(f"{steps} steps")
    write_adapter_files(
        model,
        directory,
        "vox-tiny-base",
        "Apache-2.0",
        "Point INFER_URL at the server and set INFER_MODEL to the name that GET /api/tags shows.",
    )
    for file in directory.iterdir():
        file.chmod(0o644)


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--seed", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.seconds, arguments.seed)
