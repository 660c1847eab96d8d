import openai
from checks import ANSWER, CITY_SCHEMA, EMBEDDER, MODEL, QUESTION, TOOL_MODEL, URL, Checks, contains, equal, is_city, is_vector, raises

check = Checks("openai", "openai")
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
say = [{"role": "user", "content": QUESTION}]
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": CITY_SCHEMA, "strict": True}}


@check
def chat():
    answer = client.chat.completions.create(model=MODEL, messages=say)
    contains(answer.choices[0].message.content, ANSWER)
    equal(answer.choices[0].finish_reason, "stop")
    assert answer.usage.completion_tokens > 0


@check
def stream():
    options = {"stream_options": {"include_usage": True}}
    pieces = list(client.chat.completions.create(model=MODEL, messages=say, stream=True, **options))
    contains("".join(each.choices[0].delta.content or "" for each in pieces if each.choices), ANSWER)
    assert pieces[-1].usage.completion_tokens > 0


@check
def stream_helper():
    with client.chat.completions.stream(model=MODEL, messages=say) as events:
        for _ in events:
            pass
        contains(events.get_final_completion().choices[0].message.content, ANSWER)


@check
def completions():
    answer = client.completions.create(model=MODEL, prompt="@table type Book {", max_tokens=20, logprobs=2)
    assert len(answer.choices[0].logprobs.tokens) > 0


@check
def tools():
    request = {"model": TOOL_MODEL, "messages": say, "tools": [WEATHER]}
    answer = client.chat.completions.create(tool_choice="required", **request)
    [call] = answer.choices[0].message.tool_calls
    equal(call.function.name, "weather")
    is_city(call.function.arguments)
    equal(answer.choices[0].finish_reason, "tool_calls")
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    history = [*say, answer.choices[0].message.to_dict(), result]
    again = client.chat.completions.create(model=TOOL_MODEL, messages=history, tools=[WEATHER], max_tokens=5)
    assert again.usage.prompt_tokens > answer.usage.prompt_tokens


@check
def streamed_tools():
    choice = {"type": "function", "function": {"name": "weather"}}
    events = client.chat.completions.create(model=TOOL_MODEL, messages=say, tools=[WEATHER], tool_choice=choice, stream=True)
    calls = [call for each in events for call in (each.choices[0].delta.tool_calls or [])]
    equal(calls[0].function.name, "weather")
    is_city("".join(call.function.arguments or "" for call in calls))


@check
def json_schema():
    schema = {"name": "place", "schema": CITY_SCHEMA, "strict": True}
    answer = client.chat.completions.create(
        model=MODEL, messages=say, response_format={"type": "json_schema", "json_schema": schema}
    )
    is_city(answer.choices[0].message.content)


@check
def parsed():
    from pydantic import BaseModel

    class Place(BaseModel):
        city: str

    answer = client.chat.completions.parse(model=MODEL, messages=say, response_format=Place, max_tokens=300)
    assert isinstance(answer.choices[0].message.parsed.city, str)


@check
def responses():
    answer = client.responses.create(model=MODEL, input=QUESTION)
    contains(answer.output_text, ANSWER)
    equal(answer.status, "completed")
    again = client.responses.create(model=MODEL, input="Thanks", previous_response_id=answer.id, max_output_tokens=20)
    equal(again.previous_response_id, answer.id)
    equal(client.responses.retrieve(answer.id).id, answer.id)


@check
def streamed_responses():
    with client.responses.stream(model=MODEL, input=QUESTION) as events:
        kinds = {event.type for event in events}
        contains(events.get_final_response().output_text, ANSWER)
    assert "response.output_text.delta" in kinds, kinds


@check
def response_tools():
    tool = {"type": "function", "name": "weather", "parameters": CITY_SCHEMA, "strict": True}
    answer = client.responses.create(model=TOOL_MODEL, input=QUESTION, tools=[tool], tool_choice="required")
    [call] = [each for each in answer.output if each.type == "function_call"]
    is_city(call.arguments)


@check
def response_schema():
    text = {"format": {"type": "json_schema", "name": "place", "schema": CITY_SCHEMA, "strict": True}}
    is_city(client.responses.create(model=MODEL, input=QUESTION, text=text).output_text)


@check
def embeddings():
    answer = client.embeddings.create(model=EMBEDDER, input=["one", "two"])
    equal(len(answer.data), 2)
    is_vector(answer.data[0].embedding)
    floats = client.embeddings.create(model=EMBEDDER, input="one", encoding_format="float")
    assert abs(floats.data[0].embedding[0] - answer.data[0].embedding[0]) < 1e-6


@check
def models():
    assert {MODEL, TOOL_MODEL} <= {each.id for each in client.models.list()}
    equal(client.models.retrieve(MODEL).id, MODEL)


@check
def errors():
    def ask(**fields):
        return lambda: client.chat.completions.create(**{"model": MODEL, "messages": say, **fields})

    equal(raises(openai.NotFoundError, ask(model="none"), "none").code, "model_not_found")
    raises(openai.BadRequestError, ask(temperature=9), "temperature")
    raises(openai.BadRequestError, ask(tools=[WEATHER]), "does not support tools")
    error = raises(openai.BadRequestError, ask(messages=[{"role": "user", "content": "word " * 3000}]))
    equal(error.code, "context_length_exceeded")


check.end()
