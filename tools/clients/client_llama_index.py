from llama_index.core.llms import ChatMessage
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

from checks import ANSWER, EMBEDDER, MODEL, QUESTION, URL, Checks, contains, is_vector, raises

check = Checks("llama-index", "llama-index-core", "llama-index-llms-openai-like", "llama-index-embeddings-openai-like")
OPTIONS = {"api_base": f"{URL}/v1", "api_key": "none", "max_retries": 0}
say = [ChatMessage(role="user", content=QUESTION)]


def llm(model=MODEL, chat=True):
    return OpenAILike(model=model, is_chat_model=chat, context_window=1024, temperature=0, **OPTIONS)


@check
def chat():
    contains(llm().chat(say).message.content, ANSWER)


@check
def stream():
    contains("".join(each.delta or "" for each in llm().stream_chat(say)), ANSWER)


@check
def completions():
    assert llm(chat=False).complete("@table type Book {").text


@check
def embeddings():
    embedder = OpenAILikeEmbedding(model_name=EMBEDDER, **OPTIONS)
    is_vector(embedder.get_text_embedding("one"))


@check
def errors():
    raises(Exception, lambda: llm("none").chat(say), "none")


check.end()
