"""Renders each template and conversation of a folder with transformers, for the engine's tests.

Usage: python render-templates.py FOLDER
Reads FOLDER/cases.json and FOLDER/*.jinja, writes FOLDER/expected.json: template -> case -> {"rendered"} or {"error"}.
"""

import datetime
import hashlib
import json
import re
import sys
from pathlib import Path

import jinja2
from transformers.utils import chat_template_utils

TODAY = datetime.datetime(2024, 7, 6, 9, 5, 3)
SPECIAL_TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>"}


class FrozenDateTime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return TODAY


def nine_characters(identifier: str) -> str:
    """Returns an id of nine characters, as some templates require, from the SHA-256 of a longer one."""
    if re.fullmatch(r"[A-Za-z0-9]{9}", identifier):
        return identifier
    return hashlib.sha256(identifier.encode()).hexdigest()[:9]


def message_of(message: dict, template: str) -> dict:
    """Converts a message of the engine to the fields that transformers documents."""
    short_ids = nine_characters if "length != 9" in template else lambda identifier: identifier
    result = {"role": message["role"], "content": message["content"]}
    if "thinking" in message:
        result["reasoning_content"] = message["thinking"]
    if "toolCallId" in message:
        result["tool_call_id"] = short_ids(message["toolCallId"])
    if "name" in message:
        result["name"] = message["name"]
    if "toolCalls" in message:
        result["tool_calls"] = [
            {
                "id": short_ids(call["id"]),
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in message["toolCalls"]
        ]
    return result


def render(template: str, case: dict, tools: list[dict]) -> dict[str, str]:
    messages = [message_of(message, template) for message in case["messages"]]
    offered = [{"type": "function", "function": tool} for tool in tools] if case.get("tools") else None
    if offered is not None and "message['tools']" in template:
        if messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": ""})
        messages[0]["tools"] = json.dumps(tools, ensure_ascii=False)
    switches = {"enable_thinking": case["thinking"]} if "thinking" in case else {}
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            conversations=[messages],
            tools=offered,
            chat_template=template,
            add_generation_prompt=True,
            **SPECIAL_TOKENS,
            **switches,
        )
    except jinja2.exceptions.TemplateError as error:
        return {"error": str(error)}
    return {"rendered": rendered[0]}


def main(folder: Path) -> None:
    chat_template_utils.datetime = FrozenDateTime
    document = json.loads((folder / "cases.json").read_text())
    expected = {
        path.stem: {case["name"]: render(path.read_text(), case, document["tools"]) for case in document["cases"]}
        for path in sorted(folder.glob("*.jinja"))
    }
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
