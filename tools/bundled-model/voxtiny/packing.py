"""Token streams cut into rows of equal length, with a label mask."""

from collections.abc import Callable, Iterator

import torch
from tokenizers import Tokenizer

from .chatml import END_OF_TEXT, IM_END, IM_START

IGNORED = -100  # label that the loss skips
Piece = tuple[list[int], list[bool]]  # tokens, and for each whether it is learned


def document_piece(tokenizer: Tokenizer, text: str) -> Piece:
    """Returns a document with its end token. All tokens are learned."""
    ids = tokenizer.encode(text + END_OF_TEXT, add_special_tokens=False).ids
    return ids, [True] * len(ids)


def conversation_piece(tokenizer: Tokenizer, messages: list[dict[str, str]]) -> Piece:
    """Returns a chat. Only the assistant's answers are learned, each with its <|im_end|>."""
    ids: list[int] = []
    learned: list[bool] = []
    for message in messages:
        head = tokenizer.encode(f"{IM_START}{message['role']}\n", add_special_tokens=False).ids
        body = tokenizer.encode(message["content"] + IM_END, add_special_tokens=False).ids
        tail = tokenizer.encode("\n", add_special_tokens=False).ids
        ids += head + body + tail
        learned += [False] * len(head) + [message["role"] == "assistant"] * len(body) + [False] * len(tail)
    return ids, learned


def pack(draw: Callable[[], Piece], rows: int, length: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields endless batches of `rows` x `length` inputs and labels. A piece that does not fit starts the next row.

    The rest of a row is filled with end tokens that are not learned. Pieces longer than a row are cut.
    """
    padding, waiting = 0, draw()
    while True:
        inputs, labels = [], []
        for _ in range(rows):
            row: list[int] = []
            row_labels: list[int] = []
            while not row or len(row) + len(waiting[0]) <= length:
                ids, learned = waiting
                row += ids
                row_labels += [token if flag else IGNORED for token, flag in zip(ids, learned, strict=True)]
                waiting = draw()
            fill = max(0, length - len(row))
            inputs.append((row + [padding] * fill)[:length])
            labels.append((row_labels + [IGNORED] * fill)[:length])
        yield torch.tensor(inputs), torch.tensor(labels)
