"""Describes declarations in prose, as the base model answers."""

from .entities import Entity
from .fields import Field
from .wording import enumerate_words, with_article

KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a floating point number",
    "dec": "an exact decimal",
    "bool": "true or false",
}
COUNT_WORDS = [
    "no columns",
    "one column",
    "two columns",
    "three columns",
    "four columns",
    "five columns",
    "six columns",
]


def _columns(fields: list[Field]) -> str:
    return enumerate_words(
        [f"{field.words} is {KINDS[field.base_type]}" + (" or nothing" if field.optional else "") for field in fields]
    )


def table(entity: Entity, fields: list[Field]) -> str:
    return (
        f"A table named {entity.type_name} would keep your {entity.plural}. It has {COUNT_WORDS[len(fields)]}: "
        f"{_columns(fields)}. The row number _id is added by itself."
    )


def index(entity: Entity, columns: list[str]) -> str:
    return (
        f"An index on {enumerate_words(columns)} lets the database find rows of {entity.type_name} quickly by "
        f"{'that column' if len(columns) == 1 else 'those columns'}."
    )


def query(entity: Entity, what: str) -> str:
    return f"A query only reads. This one looks in the table {entity.type_name} and returns {what}."


def mutation(entity: Entity, what: str) -> str:
    return f"A mutation changes the database. This one {what} in the table {entity.type_name}."


def server(fields: list[Field], what: str) -> str:
    return f"A server function runs on the server. This one takes {enumerate_words([with_article(f) for f in fields])} and returns {what}."


def http(method: str, path: str, what: str) -> str:
    return f"An http route answers {method} requests at {path}. This one {what}."
