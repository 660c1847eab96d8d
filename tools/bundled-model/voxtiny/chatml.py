"""ChatML: the special tokens, the template that ships in tokenizer_config.json, and a plain renderer."""

END_OF_TEXT = "<|endoftext|>"
IM_START = "<|im_start|>"
IM_END = "<|im_end|>"
SPECIAL_TOKENS = [END_OF_TEXT, IM_START, IM_END]  # ids 0, 1, 2 in all tokenizers of this package

TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def render(messages: list[dict[str, str]], add_generation_prompt: bool = False) -> str:
    """Renders a chat as TEMPLATE does, without a template engine."""
    turns = "".join(f"{IM_START}{m['role']}\n{m['content']}{IM_END}\n" for m in messages)
    return turns + (f"{IM_START}assistant\n" if add_generation_prompt else "")
