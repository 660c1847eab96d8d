from typing import Literal

import instructor
import openai
from pydantic import BaseModel

from checks import MODEL, QUESTION, TOOL_MODEL, URL, Checks

check = Checks("instructor", "instructor")
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
say = [{"role": "user", "content": QUESTION}]


class Place(BaseModel):
    """A place."""

    city: Literal["Bonn", "Rome"]


def place(model, mode):
    patched = instructor.from_openai(client, mode=mode)
    answer = patched.chat.completions.create(
        model=model, messages=say, response_model=Place, max_retries=0, max_tokens=300
    )
    assert answer.city in ("Bonn", "Rome")


@check
def tools():
    place(TOOL_MODEL, instructor.Mode.TOOLS)


@check
def json_schema():
    place(MODEL, instructor.Mode.JSON_SCHEMA)


check.end()
