import anthropic
from checks import ANSWER, CITY_SCHEMA, MODEL, QUESTION, TOOL_MODEL, URL, Checks, contains, equal, is_city, raises

check = Checks("anthropic", "anthropic")
client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
say = [{"role": "user", "content": QUESTION}]
WEATHER = {"name": "weather", "description": "Shows the weather", "input_schema": CITY_SCHEMA}


def prompt_tokens(usage):
    # `input_tokens` counts only the tokens that were not in the cache.
    return usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)


@check
def chat():
    answer = client.messages.create(model=MODEL, messages=say, max_tokens=200)
    contains(answer.content[0].text, ANSWER)
    equal(answer.stop_reason, "end_turn")
    assert answer.usage.output_tokens > 0


@check
def stream():
    with client.messages.stream(model=MODEL, messages=say, max_tokens=200, system="Be brief.") as events:
        text = "".join(events.text_stream)
        final = events.get_final_message()
    contains(text, "{")
    equal(final.content[0].text, text)
    assert final.usage.output_tokens > 0


@check
def tools():
    request = {"model": TOOL_MODEL, "tools": [WEATHER], "max_tokens": 200}
    answer = client.messages.create(messages=say, tool_choice={"type": "any"}, **request)
    [call] = [each for each in answer.content if each.type == "tool_use"]
    is_city(call.input)
    equal(answer.stop_reason, "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    content = [each.model_dump(exclude_none=True) for each in answer.content]
    history = [*say, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    again = client.messages.create(messages=history, **{**request, "max_tokens": 5})
    assert prompt_tokens(again.usage) > prompt_tokens(answer.usage)


@check
def streamed_tools():
    choice = {"type": "tool", "name": "weather"}
    request = {"model": TOOL_MODEL, "messages": say, "tools": [WEATHER], "tool_choice": choice, "max_tokens": 200}
    with client.messages.stream(**request) as events:
        for _ in events:
            pass
        [call] = [each for each in events.get_final_message().content if each.type == "tool_use"]
    is_city(call.input)


@check
def thinking():
    request = {"model": TOOL_MODEL, "messages": say, "max_tokens": 1100}
    answer = client.messages.create(thinking={"type": "enabled", "budget_tokens": 1024}, **request)
    equal(answer.content[0].type, "thinking")


@check
def count_tokens():
    counted = client.messages.count_tokens(model=MODEL, messages=say)
    answer = client.messages.create(model=MODEL, messages=say, max_tokens=1)
    equal(counted.input_tokens, prompt_tokens(answer.usage))


@check
def errors():
    def ask(**fields):
        return lambda: client.messages.create(**{"model": MODEL, "messages": say, "max_tokens": 9, **fields})

    raises(anthropic.NotFoundError, ask(model="none"), "none")
    raises(anthropic.BadRequestError, ask(extra_body={"temperature": 9}), "temperature")
    raises(anthropic.BadRequestError, ask(tools=[WEATHER]), "does not support tools")


check.end()
