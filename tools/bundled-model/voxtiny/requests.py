"""Draws requests, each with the declaration that answers it and a description in prose."""

from dataclasses import dataclass
from random import Random
from zlib import crc32

from . import declarations as vox
from . import describe
from .answers import draw_answer
from .entities import Entity, pick_entity
from .fields import Field, pick_fields
from .phrasings import expand, join_requests, word_request
from .templates import FOLLOW_UPS
from .wording import article, word_fields

# Relative frequency of each form.
WEIGHTS = {
    "table": 26,
    "index": 6,
    "index_named": 2,
    "query_all": 7,
    "query_all_named": 3,
    "query_by": 8,
    "query_by_named": 2,
    "query_flag": 4,
    "query_flag_not": 3,
    "query_get": 4,
    "query_count": 4,
    "query_count_by": 3,
    "query_top": 4,
    "query_lowest": 3,
    "query_superlative": 4,
    "query_sorted": 4,
    "query_over": 3,
    "query_under": 3,
    "query_search": 4,
    "mutation_add": 9,
    "mutation_delete": 5,
    "server_add": 2,
    "server_subtract": 2,
    "server_multiply": 2,
    "server_join": 2,
    "server_numbers": 2,
    "server_over": 3,
    "server_greet": 3,
    "http_list": 5,
    "http_list_path": 4,
    "http_add": 4,
    "http_add_path": 3,
    "http_delete": 3,
    "http_delete_path": 2,
    "http_text": 4,
    "combined": 14,
}


@dataclass(frozen=True)
class Sample:
    form: str
    entity: Entity
    request: str
    code: str
    description: str


def _follow_up(form: str, entity: Entity, fields: list[Field], field: Field) -> str:
    match form:
        case "query_all":
            return vox.query_all(entity)
        case "mutation_add":
            return vox.mutation_add(entity, fields)
        case "mutation_delete":
            return vox.mutation_delete(entity)
        case "query_get":
            return vox.query_get(entity)
        case "query_count":
            return vox.query_count(entity)
        case "index":
            return vox.index(entity, [field.column])
        case "query_by":
            return vox.query_by(entity, [field])
        case _:
            return vox.http_list(entity)


def _combined(random: Random, entity: Entity, held_out_phrase: bool, held_out_field: bool) -> Sample:
    """Draws a table with one or two operations on it."""
    fields = pick_fields(random, random.randint(1, 3), False, held_out_field)
    slots = {
        "noun": entity.singular,
        "nouns": entity.plural,
        "Type": entity.type_name,
        "a_noun": article(entity.singular),
        "fields": word_fields(random, fields),
    }
    keyed = [f for f in fields if f.base_type in ("str", "int")]
    forms = [form for form in FOLLOW_UPS if keyed or form not in ("index", "query_by")]
    chosen = random.sample(forms, random.choice([1, 1, 2]))
    parts, codes = [], [vox.table(entity, fields)]
    for form in chosen:
        field = random.choice(keyed) if keyed else fields[0]
        parts.append(expand(random, random.choice(FOLLOW_UPS[form]), {"columns": field.words}))
        codes.append(_follow_up(form, entity, fields, field))
    request = join_requests(random, word_request(random, "table", slots, held_out_phrase, alone=False), parts)
    return Sample("combined", entity, request, "\n\n".join(codes), describe.table(entity, fields))


def reserved(code: str) -> bool:
    """Returns True if an answer is reserved for the evaluation: one declaration in twenty, selected by checksum."""
    return crc32(code.encode()) % 20 == 0


def draw(
    random: Random,
    *,
    held_out_noun: bool = False,
    held_out_phrase: bool = False,
    held_out_field: bool = False,
    held_out_answer: bool = False,
) -> Sample:
    """Draws a request. The flags select the parts that must not occur in training. Reserved answers need their flag."""
    while True:
        sample = _draw(random, held_out_noun, held_out_phrase, held_out_field)
        if held_out_noun or held_out_field or reserved(sample.code) == held_out_answer:
            return sample


def _draw(random: Random, held_out_noun: bool, held_out_phrase: bool, held_out_field: bool) -> Sample:
    entity = pick_entity(random, held_out_noun)
    form = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    if form == "combined":
        return _combined(random, entity, held_out_phrase, held_out_field)
    slots = {
        "noun": entity.singular,
        "nouns": entity.plural,
        "Type": entity.type_name,
        "a_noun": article(entity.singular),
    }
    code, description = draw_answer(random, form, entity, slots, held_out_field)
    return Sample(form, entity, word_request(random, form, slots, held_out_phrase), code, description)
