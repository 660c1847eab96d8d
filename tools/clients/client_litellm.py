import litellm
from checks import ANSWER, CITY_SCHEMA, EMBEDDER, MODEL, QUESTION, TOOL_MODEL, URL, Checks, contains, equal, is_city, is_vector, raises

check = Checks("litellm", "litellm")
say = [{"role": "user", "content": QUESTION}]
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": CITY_SCHEMA}}
PROVIDERS = {
    "openai": {"api_base": f"{URL}/v1", "api_key": "none"},
    "anthropic": {"api_base": URL, "api_key": "none"},
    "ollama_chat": {"api_base": URL},
}


def ask(provider, model=MODEL, **fields):
    request = {"messages": say, "max_tokens": 200, "num_retries": 0, **fields}
    return litellm.completion(model=f"{provider}/{model}", **PROVIDERS[provider], **request)


@check
def chat():
    for provider in PROVIDERS:
        contains(ask(provider).choices[0].message.content, ANSWER)


@check
def stream():
    for provider in PROVIDERS:
        pieces = ask(provider, stream=True)
        contains("".join(each.choices[0].delta.content or "" for each in pieces), ANSWER)


@check
def tools():
    for provider in ("openai", "anthropic"):
        answer = ask(provider, TOOL_MODEL, tools=[WEATHER], tool_choice="required")
        [call] = answer.choices[0].message.tool_calls
        equal(call.function.name, "weather")
        is_city(call.function.arguments)


@check
def json_schema():
    schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": CITY_SCHEMA, "strict": True}}
    for provider in ("openai", "ollama_chat"):
        is_city(ask(provider, response_format=schema).choices[0].message.content)


@check
def embeddings():
    answer = litellm.embedding(model=f"openai/{EMBEDDER}", input=["one", "two"], **PROVIDERS["openai"])
    equal(len(answer.data), 2)
    is_vector(answer.data[0]["embedding"])


@check
def errors():
    raises(litellm.NotFoundError, lambda: ask("openai", "none"), "none")
    raises(litellm.NotFoundError, lambda: ask("anthropic", "none"), "none")
    long = [{"role": "user", "content": "word " * 3000}]
    raises(litellm.ContextWindowExceededError, lambda: ask("openai", messages=long))


check.end()
