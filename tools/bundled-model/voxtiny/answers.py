"""Draws the fields, names and values of a request, with the resulting declaration and description."""

from random import Random

from . import declarations as vox
from . import describe
from .entities import Entity
from .fields import Field, pick_field, pick_fields
from .wording import article, enumerate_words, with_article, word_fields

GREETINGS = ["Hello", "Hi", "Welcome", "Good morning", "Good evening", "Hey", "Greetings"]
TEXTS = ["ok", "pong", "ready", "hello", "alive", "up", "yes", "welcome", "done", "it works"]
PATHS = ["/health", "/ping", "/status", "/ready", "/hello", "/alive", "/version", "/about", "/info", "/up"]
PREFIXES = ["/api", "/v1", "/v2", "/public", "/admin", "/data", "/internal", "/shop", "/app"]
SUPERLATIVES = {
    "cheapest": ("price", "dec", False),
    "most expensive": ("price", "dec", True),
    "newest": ("created_at", "str", True),
    "latest": ("created_at", "str", True),
    "most recent": ("created_at", "str", True),
    "oldest": ("created_at", "str", False),
    "best rated": ("rating", "float", True),
    "heaviest": ("weight", "float", True),
    "lightest": ("weight", "float", False),
    "fastest": ("speed", "float", True),
    "tallest": ("height", "float", True),
    "most popular": ("likes", "int", True),
}
NUMBER_WORDS = {"number": "int", "whole number": "int", "integer": "int", "float": "float", "decimal": "dec"}
NAME_VERBS = ["all", "every", "show", "read", "fetch", "load", "our", "my", "the"]


def _path(random: Random, entity: Entity) -> str:
    return random.choice(PREFIXES) + "/" + entity.snake_plural


def draw_answer(
    random: Random, form: str, entity: Entity, slots: dict[str, str], held_out_field: bool
) -> tuple[str, str]:
    """Draws the fields and values of a form, fills `slots`, returns code and description."""
    if form in ("table", "mutation_add", "http_add", "http_add_path"):
        most = 5 if form == "table" else 3
        fields = pick_fields(random, random.randint(1, most), form == "table", held_out_field)
        slots["fields"] = word_fields(random, fields)
        if form == "table":
            return vox.table(entity, fields), describe.table(entity, fields)
        if form == "mutation_add":
            return vox.mutation_add(entity, fields), describe.mutation(entity, f"adds {article(entity.singular)}")
        path = _path(random, entity) if form == "http_add_path" else None
        slots["path"] = path or ""
        return (
            vox.http_add(entity, fields, path),
            describe.http("POST", path or "/api/" + entity.snake_plural, f"adds {article(entity.singular)}"),
        )
    if form in ("index", "index_named", "query_by", "query_by_named"):
        fields = [pick_field(random, "str", "int", "str")]
        if random.random() < 0.35:
            fields.append(next(f for f in iter(lambda: pick_field(random, "str", "int"), None) if f != fields[0]))
        columns = [f.column for f in fields]
        slots["columns"] = enumerate_words([f.words for f in fields])
        name = None
        if form == "index_named":
            name = random.choice(["idx", "fast", "lookup", "main", "quick"]) + "_" + random.choice(columns)
        if form == "query_by_named":
            name = random.choice(NAME_VERBS) + "_" + random.choice([entity.snake_plural, entity.snake])
        slots["name"] = name or ""
        if form.startswith("index"):
            return vox.index(entity, columns, name), describe.index(entity, [f.words for f in fields])
        return (
            vox.query_by(entity, fields, name),
            describe.query(entity, f"the {entity.plural} with a given {slots['columns']}"),
        )
    if form.startswith("query"):
        return _query(random, form, entity, slots)
    if form == "mutation_delete":
        return vox.mutation_delete(entity), describe.mutation(entity, f"deletes {article(entity.singular)} by id")
    if form.startswith("server"):
        return _server(random, form, slots)
    return _http(random, form, entity, slots)


def _query(random: Random, form: str, entity: Entity, slots: dict[str, str]) -> tuple[str, str]:
    if form in ("query_all", "query_all_named"):
        name = None
        if form == "query_all_named":
            name = slots["name"] = random.choice(NAME_VERBS) + "_" + random.choice([entity.snake_plural, entity.snake])
        return vox.query_all(entity, name), describe.query(entity, f"all {entity.plural}")
    if form == "query_get":
        return vox.query_get(entity), describe.query(entity, f"one {entity.singular} by its id, or nothing")
    if form == "query_count":
        return vox.query_count(entity), describe.query(entity, f"the number of {entity.plural}")
    if form.startswith("query_flag"):
        field, value = pick_field(random, "bool"), form == "query_flag"
        slots["field"] = field.words
        return (
            vox.query_flag(entity, field, value),
            describe.query(entity, f"the {entity.plural} that are {'' if value else 'not '}{field.words}"),
        )
    if form == "query_superlative":
        word, limit = random.choice(list(SUPERLATIVES)), random.randint(2, 60)
        column, base_type, descending = SUPERLATIVES[word]
        slots["field"], slots["n"] = word, str(limit)
        return (
            vox.query_top(entity, Field(column, base_type), limit, descending),
            describe.query(entity, f"the {limit} {word} {entity.plural}"),
        )
    kinds = {"query_count_by": ("str", "int"), "query_search": ("str",), "query_sorted": ("str", "int", "float", "dec")}
    field = pick_field(random, *kinds.get(form, ("int", "float", "dec")))
    slots["field"], slots["a_field"] = field.words, with_article(field)
    if form == "query_count_by":
        return vox.query_count_by(entity, field), describe.query(
            entity, f"the number of {entity.plural} by {field.words}"
        )
    if form == "query_search":
        return vox.query_search(entity, field), describe.query(
            entity, f"the {entity.plural} whose {field.words} contains a text"
        )
    if form == "query_sorted":
        return vox.query_sorted(entity, field), describe.query(entity, f"all {entity.plural} sorted by {field.words}")
    if form in ("query_top", "query_lowest"):
        limit, descending = random.randint(2, 60), form == "query_top"
        slots["n"] = str(limit)
        return (
            vox.query_top(entity, field, limit, descending),
            describe.query(
                entity, f"the {limit} {entity.plural} with the {'highest' if descending else 'lowest'} {field.words}"
            ),
        )
    over = form == "query_over"
    return (
        vox.query_compare(entity, field, over),
        describe.query(entity, f"the {entity.plural} whose {field.words} is {'over' if over else 'under'} a value"),
    )


def _server(random: Random, form: str, slots: dict[str, str]) -> tuple[str, str]:
    kinds = {"server_join": ("str",), "server_greet": ("str",)}.get(form, ("int", "float"))
    first = pick_field(random, *kinds)
    second = next(f for f in iter(lambda: pick_field(random, *kinds), None) if f != first)
    slots["field"], slots["field2"], slots["a_field"] = first.words, second.words, with_article(first)
    if form == "server_numbers":
        verb, word = random.choice(["add", "subtract", "multiply"]), random.choice(list(NUMBER_WORDS))
        slots["verb"], slots["text"] = verb, word
        return vox.server_numbers(verb, NUMBER_WORDS[word]), describe.server(
            [Field("a", "int"), Field("b", "int")], "one number"
        )
    if form == "server_join":
        return vox.server_join(first, second), describe.server([first, second], "both as one text")
    if form == "server_greet":
        greeting = slots["greeting"] = random.choice(GREETINGS)
        return vox.server_greet(first, greeting), describe.server([first], "a greeting")
    if form == "server_over":
        limit = random.choice(
            [random.randint(1, 20), random.randint(1, 20) * 10, random.randint(1, 9) * 100, 1000, 18, 21]
        )
        slots["limit"] = str(limit)
        return vox.server_over(first, limit), describe.server([first], f"whether it is over {limit}")
    verb = form.removeprefix("server_")
    result = {"add": "their sum", "subtract": "the difference", "multiply": "the product"}[verb]
    return vox.server_arithmetic(verb, first, second), describe.server([first, second], result)


def _http(random: Random, form: str, entity: Entity, slots: dict[str, str]) -> tuple[str, str]:
    if form == "http_text":
        path = slots["path"] = random.choice(
            [random.choice(PATHS), "/" + entity.snake, random.choice(PREFIXES) + random.choice(PATHS)]
        )
        text = slots["text"] = random.choice([*TEXTS, entity.singular])
        return vox.http_text(path, text), describe.http("GET", path, f"answers with the text {text}")
    path = _path(random, entity) if form.endswith("_path") else None
    slots["path"] = path or ""
    shown = path or "/api/" + entity.snake_plural
    if form.startswith("http_list"):
        return vox.http_list(entity, path), describe.http("GET", shown, f"returns all {entity.plural}")
    return vox.http_delete(entity, path), describe.http("DELETE", shown, f"deletes {article(entity.singular)} by id")
