import ollama
from checks import ANSWER, CITY_SCHEMA, EMBEDDER, MODEL, QUESTION, TOOL_MODEL, URL, Checks, contains, equal, is_city, is_vector, raises

check = Checks("ollama", "ollama")
client = ollama.Client(host=URL)
say = [{"role": "user", "content": QUESTION}]


def weather(city: str) -> str:
    """Shows the weather.

    Args:
        city: Name of a city
    """
    return f"rain in {city}"


@check
def chat():
    answer = client.chat(model=MODEL, messages=say)
    contains(answer.message.content, ANSWER)
    equal(answer.done_reason, "stop")
    assert answer.eval_count > 0


@check
def stream():
    contains("".join(each.message.content for each in client.chat(model=MODEL, messages=say, stream=True)), ANSWER)


@check
def generate():
    contains(client.generate(model=MODEL, prompt=QUESTION, options={"num_predict": 100}).response, ANSWER)


@check
def tools():
    # The model may answer with text: Ollama's API cannot force a call.
    answer = client.chat(model=TOOL_MODEL, messages=say, tools=[weather], options={"num_predict": 20})
    assert answer.message.content or answer.message.tool_calls
    called = {"role": "assistant", "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Bonn"}}}]}
    history = [*say, called, {"role": "tool", "tool_name": "weather", "content": "rain in Bonn"}]
    again = client.chat(model=TOOL_MODEL, messages=history, tools=[weather], options={"num_predict": 5})
    assert again.prompt_eval_count > answer.prompt_eval_count


@check
def json_schema():
    is_city(client.chat(model=MODEL, messages=say, format=CITY_SCHEMA).message.content)


@check
def thinking():
    answer = client.chat(model=TOOL_MODEL, messages=say, think=True, options={"num_predict": 30})
    assert answer.message.thinking


@check
def embeddings():
    answer = client.embed(model=EMBEDDER, input=["one", "two"])
    equal(len(answer.embeddings), 2)
    is_vector(list(answer.embeddings[0]))
    is_vector(list(client.embeddings(model=EMBEDDER, prompt="one").embedding))


@check
def models():
    assert {MODEL, TOOL_MODEL} <= {each.model for each in client.list().models}
    equal(client.show(MODEL).details.family, "llama")
    assert MODEL in {each.model for each in client.ps().models}


@check
def copy_and_delete():
    client.copy(MODEL, "copied")
    contains(client.chat(model="copied", messages=say).message.content, ANSWER)
    client.delete("copied")
    assert "copied" not in {each.model for each in client.list().models}


@check
def errors():
    equal(raises(ollama.ResponseError, lambda: client.chat(model="none", messages=say), "none").status_code, 404)
    bad = lambda: client.chat(model=MODEL, messages=say, options={"temperature": -1})
    equal(raises(ollama.ResponseError, bad, "temperature").status_code, 400)
    tooled = lambda: client.chat(model=MODEL, messages=say, tools=[weather])
    raises(ollama.ResponseError, tooled, "does not support tools")


check.end()
