"""Draws chats from requests, small talk and facts, answered in prose (base) or with declarations (adapter)."""

from random import Random

from .knowledge import FACTS
from .requests import draw
from .small_talk import draw_change, draw_impossible, draw_small_talk, draw_underspecified

_SYSTEMS = [
    "You are a helpful assistant.",
    "You are vox-tiny.",
    "You write .vox declarations.",
    "Be short.",
    "Answer with code.",
    "You are an assistant that helps developers.",
    "You are a coding assistant. Answer briefly.",
    "Answer the user's questions.",
]


def draw_turn(random: Random, answers: str) -> tuple[str, str]:
    """Draws a request and its answer. `answers`: 'prose' or 'declarations'."""
    kind = random.random()
    if kind < 0.78:
        sample = draw(random)
        return sample.request, sample.code if answers == "declarations" else sample.description
    if kind < 0.85:
        questions, answer = random.choice(FACTS)
        question = random.choice(questions)
        if random.random() < 0.5:
            question = question[0].upper() + question[1:]
        return question + random.choice(["", "?", "?"]), answer
    if kind < 0.93:
        request, declared, prose = draw_small_talk(random)
    elif kind < 0.97:
        request, declared, prose = draw_impossible(random)
    elif kind < 0.98:
        request, declared, prose = draw_change(random)
    else:
        request, declared, prose = draw_underspecified(random)
    return request, declared if answers == "declarations" else prose


def draw_conversation(random: Random, answers: str) -> list[dict[str, str]]:
    """Draws a chat of one to five turns. One chat in five has a system message."""
    messages = []
    if random.random() < 0.2:
        messages.append({"role": "system", "content": random.choice(_SYSTEMS)})
    for _ in range(random.choice([1, 1, 1, 1, 2, 2, 3, 5])):
        request, answer = draw_turn(random, answers)
        messages += [{"role": "user", "content": request}, {"role": "assistant", "content": answer}]
    return messages
