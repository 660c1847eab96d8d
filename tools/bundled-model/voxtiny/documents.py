"""Draws training documents of the base model: pages of requests and declarations, sources, facts, prose chats."""

from random import Random

from .chatml import render
from .conversations import draw_conversation
from .knowledge import FACTS
from .requests import draw
from .small_talk import example_request, own_sentences


def _page(random: Random) -> str:
    """Draws a page with a few worked examples, as in a manual."""
    parts = []
    for _ in range(random.randint(1, 3)):
        sample = draw(random)
        lead = random.choice([f"Task: {sample.request}", f"Example: {sample.request}", f"## {sample.request}"])
        tail = f"\n{sample.description}" if random.random() < 0.3 else ""
        parts.append(f"{lead}\n```vox\n{sample.code}\n```{tail}")
    return "\n\n".join(parts)


def _source(random: Random) -> str:
    """Draws a source file in which comments describe the declarations."""
    samples = [draw(random) for _ in range(random.randint(1, 4))]
    return "\n\n".join(f"// {sample.request}\n{sample.code}" for sample in samples)


def _facts(random: Random) -> str:
    lines = []
    for questions, answer in random.sample(FACTS, random.randint(1, 3)):
        question = random.choice(questions)
        lines.append(random.choice([f"Q: {question}?\nA: {answer}", answer]))
    if random.random() < 0.5:
        lines += own_sentences(random)
    if random.random() < 0.3:
        lines.append(f"You could ask: {example_request(random)}.")
    return "\n".join(lines)


def draw_document(random: Random) -> str:
    kind = random.random()
    if kind < 0.40:
        return _page(random)
    if kind < 0.56:
        return _source(random)
    if kind < 0.64:
        return _facts(random)
    return render(draw_conversation(random, "prose"))
