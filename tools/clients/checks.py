"""Runs the checks of one client, and prints each result as a line of JSON."""

import json
import os
import sys
import traceback
from importlib.metadata import version

URL = os.environ["SVC_URL"].rstrip("/")
# The bundled model, and the same weights with a template that has tools and thoughts.
MODEL = "vox-tiny"
TOOL_MODEL = "vox-tools"
EMBEDDER = os.environ.get("SVC_EMBEDDER", "bert")

QUESTION = "Make a table of books with a title and a price."
ANSWER = "@table type Book"
CITY_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Bonn", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}


class Checks:
    """Checks of one client. `packages`: the packages whose versions are reported."""

    def __init__(self, client, *packages):
        self.client = client
        self.versions = {name: version(name) for name in packages}
        self.failed = False

    def __call__(self, function):
        """Runs a check, which fails by an exception."""
        result = {"client": self.client, "versions": self.versions, "check": function.__name__}
        try:
            function()
            result["ok"] = True
        except BaseException as error:
            traceback.print_exc()
            result.update(ok=False, problem=f"{type(error).__name__}: {error}"[:500])
            self.failed = True
        print(json.dumps(result), flush=True)
        return function

    def end(self):
        sys.exit(1 if self.failed else 0)


def equal(actual, expected):
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


def contains(text, part):
    assert part in (text or ""), f"expected {part!r} in {text!r}"


def is_city(value):
    """Accepts the arguments of a call, or an object, that follows CITY_SCHEMA."""
    found = json.loads(value) if isinstance(value, str) else value
    assert set(found) == {"city"} and found["city"] in ("Bonn", "Rome"), f"not a city: {found!r}"


def is_vector(values):
    assert len(values) > 8 and all(isinstance(each, float) for each in values), f"not a vector: {values!r}"


def raises(kind, function, part=""):
    """Returns the error that a function must raise."""
    try:
        function()
    except kind as error:
        contains(str(error), part)
        return error
    raise AssertionError(f"expected {kind.__name__}")
