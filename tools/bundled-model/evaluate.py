"""Compares the base with base + adapter on held-out requests, with greedy decoding and at temperature 0.7.

Usage: python evaluate.py RUN_DIRECTORY held-out.jsonl [--failures]
Prints a Markdown table. Exact: the answer equals the expected one, byte for byte. Valid: the answer parses.
"""

import argparse
import json
import math
from collections import defaultdict
from pathlib import Path

import torch
from tokenizers import Tokenizer

from voxtiny.adapter_load import load_adapted, load_base
from voxtiny.chatml import IM_END, render
from voxtiny.vox_syntax import is_valid

BATCH = 40
MAX_NEW_TOKENS = 220


def prompt_of(request: str) -> str:
    return render([{"role": "user", "content": request}], add_generation_prompt=True)


@torch.no_grad()
def answer_all(model: torch.nn.Module, tokenizer: Tokenizer, requests: list[str], temperature: float) -> list[str]:
    """Returns the answers in the order of the requests. Generates in batches with left padding."""
    answers = []
    for start in range(0, len(requests), BATCH):
        prompts = [
            tokenizer.encode(prompt_of(r), add_special_tokens=False).ids for r in requests[start : start + BATCH]
        ]
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
        output = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=MAX_NEW_TOKENS, **sampling)
        answers += [
            tokenizer.decode(row[width:].tolist(), skip_special_tokens=False).split(IM_END)[0].split("<|endoftext|>")[0]
            for row in output
        ]
    return answers


@torch.no_grad()
def perplexity(model: torch.nn.Module, tokenizer: Tokenizer, rows: list[dict[str, str]]) -> float:
    """Returns the perplexity per token of the expected answers, including <|im_end|>."""
    total, count = 0.0, 0
    for row in rows:
        prompt = tokenizer.encode(prompt_of(row["request"]), add_special_tokens=False).ids
        answer = tokenizer.encode(row["answer"] + IM_END, add_special_tokens=False).ids
        logits = model(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        total += torch.nn.functional.cross_entropy(logits, torch.tensor(answer), reduction="sum").item()
        count += len(answer)
    return math.exp(total / count)


def main(directory: Path, held_out: Path, show_failures: bool) -> None:
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    rows = [json.loads(line) for line in held_out.read_text().splitlines()]
    by_set: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_set[row["set"]].append(row)
    models = {"base": load_base(directory), "base + adapter": load_adapted(directory)}
    print("| set | requests | model | exact | exact at 0.7 | valid | perplexity |\n|---|---|---|---|---|---|---|")
    failures = []
    for name, model in models.items():
        greedy = answer_all(model, tokenizer, [row["request"] for row in rows], 0)
        torch.manual_seed(7)
        sampled = answer_all(model, tokenizer, [row["request"] for row in rows], 0.7)
        for row, answer, warm in zip(rows, greedy, sampled, strict=True):
            row.update(greedy=answer, sampled=warm)
            if name != "base" and answer != row["answer"]:
                failures.append(dict(row))
        for group, members in [*by_set.items(), ("all", rows)]:
            share = [
                f"{100 * sum(test(row) for row in members) / len(members):.1f} %"
                for test in (
                    lambda row: row["greedy"] == row["answer"],
                    lambda row: row["sampled"] == row["answer"],
                    lambda row: is_valid(row["greedy"]),
                )
            ]
            print(
                f"| {group} | {len(members)} | {name} | {' | '.join(share)} | {perplexity(model, tokenizer, members):.3g} |"
            )
    if show_failures:
        for row in failures:
            print(f"\n[{row['set']}, {row['form']}] {row['request']}\n{row['greedy']}\n-- intended:\n{row['answer']}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("--failures", action="store_true")
    arguments = parser.parse_args()
    main(arguments.directory, arguments.held_out, arguments.failures)
