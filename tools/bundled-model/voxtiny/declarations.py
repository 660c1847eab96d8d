"""Renders the `.vox` source of each form that the model learns. Callers pass all names, fields and values."""

from .entities import Entity
from .fields import Field


def _block(head: str, *body: str) -> str:
    return "\n".join([head + " {", *("  " + line for line in body), "}"])


def _parameters(fields: list[Field]) -> str:
    return ", ".join(f"{field.column}: {field.type_text}" for field in fields)


def _record(fields: list[Field]) -> str:
    return "{ " + ", ".join(f"{field.column}: {field.column}" for field in fields) + " }"


def table(entity: Entity, fields: list[Field]) -> str:
    return _block(f"@table type {entity.type_name}", *(f"{f.column}: {f.type_text}" for f in fields))


def index(entity: Entity, columns: list[str], name: str | None = None) -> str:
    return f"@index {entity.type_name}.{name or 'by_' + '_'.join(columns)} on ({', '.join(columns)})"


def query_all(entity: Entity, name: str | None = None) -> str:
    return _block(
        f"@query fn {name or 'list_' + entity.snake_plural}() to List[{entity.type_name}]",
        f"return db.{entity.type_name}.all()",
    )


def query_by(entity: Entity, fields: list[Field], name: str | None = None) -> str:
    name = name or f"{entity.snake_plural}_by_" + "_and_".join(f.column for f in fields)
    return _block(
        f"@query fn {name}({_parameters(fields)}) to List[{entity.type_name}]",
        f"return db.{entity.type_name}.filter({_record(fields)})",
    )


def query_flag(entity: Entity, field: Field, value: bool) -> str:
    name = f"{field.column}_{entity.snake_plural}" if value else f"{entity.snake_plural}_not_{field.column}"
    return _block(
        f"@query fn {name}() to List[{entity.type_name}]",
        f"return db.{entity.type_name}.filter({{ {field.column}: {'true' if value else 'false'} }})",
    )


def query_get(entity: Entity) -> str:
    return _block(
        f"@query fn get_{entity.snake}(id: int) to Option[{entity.type_name}]", f"return db.{entity.type_name}.get(id)"
    )


def query_count(entity: Entity) -> str:
    return _block(f"@query fn count_{entity.snake_plural}() to int", f"return db.{entity.type_name}.count()")


def query_count_by(entity: Entity, field: Field) -> str:
    return _block(
        f"@query fn count_{entity.snake_plural}_by_{field.column}({_parameters([field])}) to int",
        f"return db.{entity.type_name}.filter({_record([field])}).count()",
    )


def query_top(entity: Entity, field: Field, limit: int, descending: bool) -> str:
    name = f"{'top' if descending else 'lowest'}_{entity.snake_plural}_by_{field.column}"
    order = "desc" if descending else "asc"
    return _block(
        f"@query fn {name}() to List[{entity.type_name}]",
        f'return db.{entity.type_name}.all().order_by("{field.column}", "{order}").limit({limit})',
    )


def query_sorted(entity: Entity, field: Field) -> str:
    return _block(
        f"@query fn {entity.snake_plural}_sorted_by_{field.column}() to List[{entity.type_name}]",
        f'return db.{entity.type_name}.all().order_by("{field.column}", "asc")',
    )


def query_compare(entity: Entity, field: Field, over: bool) -> str:
    word, parameter, operator = ("over", "min", "gt") if over else ("under", "max", "lt")
    return _block(
        f"@query fn {entity.snake_plural}_with_{field.column}_{word}({parameter}: {field.base_type})"
        f" to List[{entity.type_name}]",
        f"return db.{entity.type_name}.where({{ {field.column}: {{ {operator}: {parameter} }} }})",
    )


def query_search(entity: Entity, field: Field) -> str:
    return _block(
        f"@query fn search_{entity.snake_plural}(text: str) to List[{entity.type_name}]",
        f"return db.{entity.type_name}.where({{ {field.column}: {{ contains: text }} }})",
    )


def mutation_add(entity: Entity, fields: list[Field]) -> str:
    return _block(
        f"@mutation fn add_{entity.snake}({_parameters(fields)}) to int",
        f"return db.{entity.type_name}.insert({_record(fields)})",
    )


def mutation_delete(entity: Entity) -> str:
    return _block(f"@mutation fn delete_{entity.snake}(id: int) to Unit", f"db.{entity.type_name}.delete(id)")


def server_arithmetic(verb: str, first: Field, second: Field) -> str:
    """Renders an arithmetic function. `verb`: add, subtract (second from first) or multiply."""
    joiner = {"add": "and", "subtract": "from", "multiply": "by"}[verb]
    operator = {"add": "+", "subtract": "-", "multiply": "*"}[verb]
    named = (second, first) if verb == "subtract" else (first, second)
    result = "float" if "float" in (first.base_type, second.base_type) else "int"
    return _block(
        f"@server fn {verb}_{named[0].column}_{joiner}_{named[1].column}({_parameters([first, second])}) to {result}",
        f"return {first.column} {operator} {second.column}",
    )


def server_numbers(verb: str, number_type: str) -> str:
    """Renders an arithmetic function on numbers. `verb`: add, subtract or multiply."""
    operator = {"add": "+", "subtract": "-", "multiply": "*"}[verb]
    return _block(f"@server fn {verb}(a: {number_type}, b: {number_type}) to {number_type}", f"return a {operator} b")


def server_join(first: Field, second: Field) -> str:
    return _block(
        f"@server fn join_{first.column}_and_{second.column}({_parameters([first, second])}) to str",
        f'return {first.column} + " " + {second.column}',
    )


def server_over(field: Field, limit: int) -> str:
    return _block(
        f"@server fn is_{field.column}_over_{limit}({_parameters([field])}) to bool", f"return {field.column} > {limit}"
    )


def server_greet(field: Field, greeting: str) -> str:
    return _block(
        f"@server fn greet_by_{field.column}({_parameters([field])}) to str", f'return "{greeting}, " + {field.column}'
    )


def http_list(entity: Entity, path: str | None = None) -> str:
    return _block(
        f'http get "{path or "/api/" + entity.snake_plural}" to List[{entity.type_name}]',
        f"return db.{entity.type_name}.all()",
    )


def http_add(entity: Entity, fields: list[Field], path: str | None = None) -> str:
    return _block(
        f'http post "{path or "/api/" + entity.snake_plural}" ({_parameters(fields)}) to int',
        f"return db.{entity.type_name}.insert({_record(fields)})",
    )


def http_delete(entity: Entity, path: str | None = None) -> str:
    return _block(
        f'http delete "{path or "/api/" + entity.snake_plural}" (id: int) to Unit', f"db.{entity.type_name}.delete(id)"
    )


def http_text(path: str, text: str) -> str:
    return _block(f'http get "{path}" to str', f'return "{text}"')
