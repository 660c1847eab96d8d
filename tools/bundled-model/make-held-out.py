"""Writes the requests for the evaluation. Usage: python make-held-out.py held-out.jsonl"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from voxtiny.entities import NOUNS
from voxtiny.requests import Sample, draw
from voxtiny.templates import HELD_OUT

_KNOWN = {noun.singular for noun in NOUNS}


def _combination(random: Random) -> Sample:
    """Draws a request with known nouns and wordings whose answer does not occur in training."""
    while True:
        sample = draw(random, held_out_answer=True)
        if sample.entity.singular.split()[-1] in _KNOWN:
            return sample


def _phrasing(random: Random) -> Sample:
    """Draws a request with a held-out template whose answer does not occur in training."""
    while True:
        sample = draw(random, held_out_phrase=True, held_out_answer=True)
        if sample.form in HELD_OUT and sample.entity.singular.split()[-1] in _KNOWN:
            return sample


def _noun(random: Random) -> Sample:
    while True:
        sample = draw(random, held_out_noun=True)
        if not sample.form.startswith("server"):
            return sample


def _column(random: Random) -> Sample:
    while True:
        sample = draw(random, held_out_field=True)
        if sample.form in ("table", "mutation_add", "http_add", "http_add_path", "combined"):
            return sample


def _everything(random: Random) -> Sample:
    while True:
        sample = draw(random, held_out_noun=True, held_out_phrase=True, held_out_field=True)
        if sample.form in HELD_OUT or sample.form == "combined":
            return sample


SETS: dict[str, tuple[int, Callable[[Random], Sample]]] = {
    "unseen combination": (120, _combination),
    "unseen noun": (60, _noun),
    "unseen column": (40, _column),
    "unseen wording": (60, _phrasing),
    "all unseen": (40, _everything),
}

if __name__ == "__main__":
    random, seen, lines = Random(1_000_003), set(), []
    for name, (count, make) in SETS.items():
        while count > 0:
            sample = make(random)
            if sample.request in seen:
                continue
            seen.add(sample.request)
            lines.append(
                json.dumps({"set": name, "form": sample.form, "request": sample.request, "answer": sample.code})
            )
            count -= 1
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
