"""Writes the results of PyTorch and PEFT for a run directory, for the engine's tests. All computation is in fp32.

Usage: python make-fixtures.py RUN_DIRECTORY OUT_DIRECTORY
Writes OUT_DIRECTORY/NAME.expected.json and OUT_DIRECTORY/NAME.logits.bin (format: README.md next to the fixtures).
"""

import json
import os
import sys
from pathlib import Path

import numpy
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from voxtiny.adapter_load import load_adapted, load_base

GREEDY_TOKENS = 24
CONVERSATIONS = {
    "table": [{"role": "user", "content": "Make a table of books with a title, a price and whether it is sold."}],
    "greeting": [{"role": "user", "content": "hello"}],
    "system-and-history": [
        {"role": "system", "content": "You write small declarations."},
        {"role": "user", "content": "List all tasks."},
        {"role": "assistant", "content": "@query fn list_tasks() to List[Task] {\n  return db.Task.all()\n}"},
        {"role": "user", "content": "Now count them."},
    ],
}
PLAIN_TEXTS = {"plain-text": "@index Task.by_owner on (owner"}
TRICKY_TEXTS = [
    "",
    " ",
    "\n",
    "   leading, trailing   ",
    "tabs\tand\r\nCRLF\n\n\nthree newlines",
    "It's 2026; we'll see 3.14159 and 1,000,000!",
    "naïve façade Ünïcödé",
    "e\u0301 decomposed, \u00e9 composed",
    "日本語のテキスト、中文字符，한국어",
    "emoji 🙂👩‍👩‍👧‍👦🏳️‍🌈 end",
    "عربى and עברית",
    "zero\u200bwidth, nbsp\u00a0here, bom\ufeff",
    "<|im_start|>user\nhi<|im_end|>\n",
    "a <|endoftext|> b <|im_end",
    "@query fn f(a: int) to List[T] { return db.T.filter({ a: a }) }",
    "snake_case camelCase PascalCase kebab-case",
    "{}[]()<>==!=|>",
    "\u0000\u0001\u007f control",
]


def positions_of(length: int) -> list[int]:
    """Returns positions to compare: the first, the last and some between."""
    return sorted({0, 1, length // 3, 2 * length // 3, length - 1} & set(range(length)))


@torch.no_grad()
def logits_at(model: torch.nn.Module, tokens: list[int], positions: list[int]) -> numpy.ndarray:
    return model(input_ids=torch.tensor([tokens])).logits[0, positions].numpy().astype("<f4")


@torch.no_grad()
def greedy(model: torch.nn.Module, tokens: list[int]) -> list[int]:
    """Decodes GREEDY_TOKENS tokens greedily without a KV cache. Does not stop at end tokens."""
    sequence = list(tokens)
    for _ in range(GREEDY_TOKENS):
        sequence.append(int(model(input_ids=torch.tensor([sequence])).logits[0, -1].argmax()))
    return sequence[len(tokens) :]


def tokenize_both_ways(tokenizer: Tokenizer, text: str) -> dict[str, object]:
    tokenizer.encode_special_tokens = True
    ordinary = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    special = tokenizer.encode(text, add_special_tokens=False).ids
    return {
        "text": text,
        "ordinary": ordinary,
        "special": special,
        "decoded": tokenizer.decode(ordinary, skip_special_tokens=False),
    }


def main(run_directory: Path, out: Path) -> None:
    tokenizer = Tokenizer.from_file(str(run_directory / "tokenizer.json"))
    templating = PreTrainedTokenizerFast.from_pretrained(run_directory)
    chats = []
    prompts = {name: tokenizer.encode(text, add_special_tokens=False).ids for name, text in PLAIN_TEXTS.items()}
    for name, messages in CONVERSATIONS.items():
        rendered = templating.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        prompts[name] = tokenizer.encode(rendered, add_special_tokens=False).ids
        chats.append({"name": name, "messages": messages, "rendered": rendered, "tokens": prompts[name]})

    variants = {"base": load_base(run_directory), "adapter": load_adapted(run_directory)}
    blocks, offset, expected_prompts = [], 0, []
    for name, tokens in prompts.items():
        positions, expectations = positions_of(len(tokens)), {}
        for variant, model in variants.items():
            if model is None:
                continue
            block = logits_at(model, tokens, positions)
            continuation = greedy(model, tokens)
            expectations[variant] = {
                "offset": offset,
                "greedy": continuation,
                "greedyText": tokenizer.decode(continuation, skip_special_tokens=False),
            }
            blocks.append(block)
            offset += block.size
        expected_prompts.append({"name": name, "tokens": tokens, "positions": positions, "variants": expectations})

    out.mkdir(parents=True, exist_ok=True)
    stem = run_directory.name
    document = {
        "format": "svc-model-fixture",
        "version": 1,
        "runDirectory": os.path.relpath(run_directory, out),
        "vocabularySize": int(blocks[0].shape[1]),
        "logits": f"{stem}.logits.bin",
        "logitsCount": offset,
        "specialTokens": {
            name: tokenizer.token_to_id(name) for name in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
        },
        "chats": chats,
        "tokenizations": [tokenize_both_ways(tokenizer, text) for text in TRICKY_TEXTS],
        "prompts": expected_prompts,
    }
    (out / f"{stem}.expected.json").write_text(json.dumps(document, ensure_ascii=True, indent=1) + "\n")
    numpy.concatenate([block.ravel() for block in blocks]).astype("<f4").tofile(out / f"{stem}.logits.bin")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
