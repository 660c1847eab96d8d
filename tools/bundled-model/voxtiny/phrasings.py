"""Turns a template into a request as users type it: verbs, politeness, lead-ins, case and final punctuation."""

import re
from random import Random

from .entities import pick_entity
from .templates import HELD_OUT, SEEN

_VERBS = {
    "make": "make create write define add declare build generate produce design construct|give me|I need|I want|we need|I'd like",
    "read": "list show get fetch read return display load retrieve print select|give me|I need|I want to see|let me see",
    "find": "find get show list fetch select retrieve query filter locate return|look up|give me|I need",
}
VERBS = {slot: words.split("|")[0].split() + words.split("|")[1:] for slot, words in _VERBS.items()}
WITH = """with|with|with|with|with columns|with the columns|with fields|that has|having|containing|which has|with the fields
where each has|including|that stores""".replace("\n", "|").split("|")
WRAPPERS = """please {}|can you {}?|could you {}?|can you {} please|hey, {}|{} please|I want you to {}|now {}|help me {}|let's {}
will you {}?|just {}|then {}|{}, thanks|I have to {}|how do I {}?|next, {}|{} for me|ok, {}|we should {}|try to {}|how can I {}?
you should {}|{} now""".replace("\n", "|").split("|")
HELD_OUT_WRAPPERS = ["would you {}?", "I would like you to {}", "go ahead and {}"]
_LEAD_INS = [
    "for my {noun} app: ",
    "I am building an app about {nouns}. ",
    "hello, ",
    "in my {noun} shop, ",
    "quick question: ",
    "first, ",
    "I work with {nouns}. ",
    "this is for a {noun} project. ",
    "so, ",
    "vox: ",
    "in vox, ",
    "at our {noun} club, ",
    "we have a {noun}. ",
    "my boss likes {nouns}; ",
    "hi! ",
    "dear model, ",
    "step 2: ",
    "- ",
]
_TAILS = [
    " in vox",
    " as vox code",
    " for my app",
    " for my {noun} project",
    " if you can",
    " thanks",
    ", thank you",
    " as a start",
    " in my app",
    " in our database",
    " today",
]
_JOINERS = [", and ", " and ", ". Then ", "; also ", ", plus ", ", together with ", ". Also ", ", then "]
_CHOICE = re.compile(r"\[([^\[\]{}]*(?:\{\w+\}[^\[\]{}]*)*)\]")


def expand(random: Random, template: str, slots: dict[str, str]) -> str:
    """Expands choices, then slots."""
    text = _CHOICE.sub(lambda match: random.choice(match[1].split("|")), template)
    drawn = {slot: random.choice(words) for slot, words in VERBS.items()}
    return re.sub(" +", " ", text.format_map({**drawn, "with": random.choice(WITH), **slots})).strip()


def word_request(random: Random, form: str, slots: dict[str, str], held_out: bool = False, alone: bool = True) -> str:
    """Draws a wording of a request, with the variation of real ones: case, wrappers, lead-ins, final punctuation.

    With `alone=False`, the wording has no message ending, so that more text can follow.
    """
    template = random.choice((HELD_OUT if held_out and form in HELD_OUT else SEEN)[form])
    text = expand(random, template.lstrip("!"), slots)
    if (
        template.startswith("!")
        and alone
        and random.random() < 0.35
        and not text.startswith(("I ", "I'", "we ", "let "))
    ):
        text = random.choice(HELD_OUT_WRAPPERS if held_out else WRAPPERS).format(text)
    elif alone and random.random() < 0.08:
        text = text.rstrip("?") + random.choice(_TAILS).format(noun=pick_entity(random).singular)
    if random.random() < 0.1:
        other = pick_entity(random)
        text = random.choice(_LEAD_INS).format(noun=other.singular, nouns=other.plural) + text
    return finish_sentence(random, text) if alone else text.rstrip("?.")


def join_requests(random: Random, first: str, follow_ups: list[str]) -> str:
    return finish_sentence(random, first + random.choice(_JOINERS) + " and ".join(follow_ups))


def finish_sentence(random: Random, text: str) -> str:
    if random.random() < 0.6:
        text = text[0].upper() + text[1:]
    if text[-1] not in "?.!" and random.random() < 0.45:
        text += "."
    return text
