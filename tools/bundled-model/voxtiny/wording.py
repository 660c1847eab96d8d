"""Words lists of fields: natural ("a title and whether it is done"), bare, or with types."""

from random import Random

from .fields import TYPE_WORDS, Field


def article(words: str) -> str:
    special_an = words.startswith(("hour", "honour"))
    special_a = words.startswith(("uni", "use", "one", "eu"))
    return ("an " if (words[0] in "aeiou" and not special_a) or special_an else "a ") + words


def with_article(field: Field) -> str:
    """ "a price", "an age", but "pages"."""
    return field.words if field.plural else article(field.words)


def enumerate_words(items: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _natural(random: Random, field: Field) -> str:
    if field.declared:
        typed = f"{field.words} ({random.choice(TYPE_WORDS[field.base_type])})"
        return (
            f"{'' if field.plural else 'an '}optional {typed}"
            if field.optional
            else typed
            if field.plural
            else article(typed)
        )
    if field.base_type == "bool":
        return random.choice([f"whether it is {field.words}", f"{article(field.words)} flag"])
    return f"{'' if field.plural else 'an '}optional {field.words}" if field.optional else with_article(field)


def _bare(random: Random, field: Field) -> str:
    words = random.choice([field.words, field.column])
    if field.declared:
        words = f"{words} ({random.choice(TYPE_WORDS[field.base_type])})"
    return f"optional {words}" if field.optional else words


def _typed(random: Random, field: Field, colon: bool) -> str:
    if colon:
        return f"{field.column}: {field.type_text}"
    kind = random.choice(TYPE_WORDS[field.base_type])
    return f"{field.words} ({'optional ' if field.optional else ''}{kind})"


def word_fields(random: Random, fields: list[Field]) -> str:
    """Draws a wording of a field list, with all items in one style."""
    style = random.choice(["natural", "natural", "natural", "bare", "bare", "colon", "parenthesis"])
    if style == "natural":
        return enumerate_words([_natural(random, field) for field in fields])
    if style == "bare":
        items = [_bare(random, field) for field in fields]
        return enumerate_words(items) if random.random() < 0.7 else ", ".join(items)
    items = [_typed(random, field, style == "colon") for field in fields]
    return ", ".join(items) if style == "colon" else enumerate_words(items)
