from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from checks import ANSWER, EMBEDDER, MODEL, QUESTION, TOOL_MODEL, URL, Checks, contains, equal, is_vector

check = Checks("langchain", "langchain-openai", "langchain-anthropic", "langchain-ollama")


class Place(BaseModel):
    """A place."""

    city: str


@tool
def weather(city: str) -> str:
    """Shows the weather of a city."""
    return f"rain in {city}"


def openai_chat(model, **options):
    return ChatOpenAI(model=model, base_url=f"{URL}/v1", api_key="none", max_retries=0, **options)


def anthropic_chat(model):
    return ChatAnthropic(model=model, base_url=URL, api_key="none", max_retries=0, max_tokens=300)


CHATS = {
    "openai": openai_chat,
    "responses": lambda model: openai_chat(model, use_responses_api=True),
    "anthropic": anthropic_chat,
    "ollama": lambda model: ChatOllama(model=model, base_url=URL),
}


@check
def chat():
    for name, chat in CHATS.items():
        contains(chat(MODEL).invoke(QUESTION).text, ANSWER)
        assert chat(MODEL).invoke(QUESTION).usage_metadata["output_tokens"] > 0, name


@check
def stream():
    for chat in CHATS.values():
        contains("".join(each.text for each in chat(MODEL).stream(QUESTION)), ANSWER)


@check
def tools():
    for name in ("openai", "responses", "anthropic"):
        bound = CHATS[name](TOOL_MODEL).bind_tools([weather], tool_choice="weather")
        answer = bound.invoke(QUESTION)
        [call] = answer.tool_calls
        equal(call["name"], "weather")
        assert isinstance(call["args"]["city"], str), name
        messages = [HumanMessage(QUESTION), answer, ToolMessage("rain", tool_call_id=call["id"])]
        CHATS[name](TOOL_MODEL).bind_tools([weather]).invoke(messages)


@check
def json_schema():
    for name in ("openai", "responses", "ollama"):
        answer = CHATS[name](MODEL).with_structured_output(Place, method="json_schema").invoke(QUESTION)
        assert isinstance(answer.city, str), name


@check
def embeddings():
    openai = OpenAIEmbeddings(
        model=EMBEDDER, base_url=f"{URL}/v1", api_key="none", check_embedding_ctx_length=False
    )
    is_vector(openai.embed_query("one"))
    ollama = OllamaEmbeddings(model=EMBEDDER, base_url=URL)
    equal(len(ollama.embed_documents(["one", "two"])), 2)


@check
def errors():
    for name, chat in CHATS.items():
        try:
            chat("none").invoke(QUESTION)
        except Exception as error:
            contains(str(error), "none")
        else:
            raise AssertionError(f"{name}: an unknown model must be an error")


check.end()
