"""Columns: their words in requests, their names and their types."""

from dataclasses import dataclass, replace
from random import Random

from .entities import NOUNS
from .invented import invent_word

UNLISTED = 0.3  # share of columns whose words are not in the lists below
_BY_TYPE = {
    "str": """title name email address phone_number description note city country colour status category author owner link
        comment language label code summary body subject genre brand street postcode currency username nickname location
        serial_number reason message slug channel region department role created_at due_date start_date end_date birthday
        deadline sender receiver first_name last_name company material shape season topic password_hash image_url website
        manufacturer destination origin hometown species team assignee reviewer customer_name tag theme date time content url mood
        updated_at filename caption""",
    "int": """quantity count age year pages rank score size priority stock capacity duration seats points attempts position
        floor likes visits minutes hours days rooms players goals wins losses steps stars downloads retries copies chapters
        doors wheels calories""",
    "float": """weight height width rating temperature latitude longitude speed depth length volume humidity distance
        pressure average voltage radius accuracy""",
    "dec": """price amount cost balance salary fee total discount tax budget deposit refund_amount tip rent fine income
        revenue""",
    "bool": """done active archived paid public published verified available urgent closed shipped locked hidden sold
        approved confirmed cancelled delivered featured enabled broken returned signed favourite completed finished checked new""",
}

_HELD_OUT = {
    "str": "motto dialect venue_name ingredient_list sponsor",
    "int": "laps petals shelves_used batch_number",
    "float": "altitude brightness salinity",
    "dec": "bounty subsidy",
    "bool": "frozen licensed",
}

_SECOND_WORDS = "name number code date list used kind level rate text value time count size at by".split()
_SINGULAR_IN_S = {"address", "status", "species"}

TYPE_WORDS = {
    "str": ["text", "string", "str"],
    "int": ["whole number", "integer", "int"],
    "float": ["float", "floating point number"],
    "dec": ["decimal", "dec", "exact decimal"],
    "bool": ["bool", "boolean", "yes or no"],
}


@dataclass(frozen=True)
class Field:
    """Column. `declared`: type that the request states, which overrides the type that the word suggests."""

    column: str
    base_type: str
    optional: bool = False
    declared: bool = False

    @property
    def words(self) -> str:
        return self.column.replace("_", " ")

    @property
    def plural(self) -> bool:
        """Returns True if the word is a plural, such as "pages", which takes no article."""
        return self.column.endswith("s") and self.column not in _SINGULAR_IN_S

    @property
    def type_text(self) -> str:
        return f"Option[{self.base_type}]" if self.optional else self.base_type


def _parse(blocks: dict[str, str]) -> list[Field]:
    return [Field(column, base_type) for base_type, block in blocks.items() for column in block.split()]


FIELDS = _parse(_BY_TYPE)
HELD_OUT_FIELDS = _parse(_HELD_OUT)
_NOT_DRAWN = {"match", *(field.column for field in HELD_OUT_FIELDS)}  # match is a keyword
_BY_BASE_TYPE = {base_type: [f for f in FIELDS if f.base_type == base_type] for base_type in _BY_TYPE}


def pick_field(random: Random, *base_types: str) -> Field:
    """Draws a field of one of the given types; default: any type. Text fields may have unlisted words."""
    base_type = random.choice(base_types or ("str", "str", "int", "float", "dec", "bool"))
    if base_types and base_type == "str" and random.random() < 0.2:
        return Field(_unlisted(random).column, "str")
    return random.choice(_BY_BASE_TYPE[base_type])


def _unlisted(random: Random) -> Field:
    """Draws a column with words that are not in the lists. Its type is text, unless the request states another one."""
    while True:
        words = [random.choice(NOUNS).singular if random.random() < 0.5 else invent_word(random)]
        if random.random() < 0.4:
            words.append(random.choice(NOUNS).singular if random.random() < 0.5 else random.choice(_SECOND_WORDS))
        if "_".join(words) not in _NOT_DRAWN:
            break
    base_type = "str" if random.random() < 0.4 else random.choice(list(TYPE_WORDS))
    return Field("_".join(words), base_type, declared=base_type != "str" or random.random() < 0.3)


def pick_fields(random: Random, count: int, allow_optional: bool = True, held_out: bool = False) -> list[Field]:
    """Draws distinct fields. If held out, the word of one field does not occur in training, and its type is stated."""
    chosen: dict[str, Field] = {}
    if held_out:
        field = replace(random.choice(HELD_OUT_FIELDS), declared=True)
        chosen[field.column] = field
    while len(chosen) < count:
        field = pick_field(random) if random.random() > UNLISTED else _unlisted(random)
        if random.random() < 0.12:
            field = replace(field, base_type=random.choice(list(TYPE_WORDS)), declared=True)
        if allow_optional and field.base_type != "bool" and random.random() < 0.12:
            field = replace(field, optional=True)
        chosen.setdefault(field.column, field)
    fields = list(chosen.values())
    random.shuffle(fields)
    return fields
