import json
import os
import tempfile

os.environ.setdefault("OPENAI_API_KEY", "none")
os.environ["HF_HUB_OFFLINE"] = "1"

from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from checks import ANSWER, MODEL, QUESTION, URL, Checks, contains, equal

check = Checks("lm-evaluation-harness", "lm-eval")
folder = tempfile.mkdtemp(prefix="svc-lm-eval-")
START = "<|im_start|>user\n{{question}}<|im_end|>\n<|im_start|>assistant\n"

COMMON = """
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
"""
CHOICE = """
task: svc_choice
output_type: multiple_choice
doc_to_text: "{start}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
target_delimiter: ""
metric_list:
  - metric: acc
"""
TEXT = """
task: svc_text
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{question}}}}"
metric_list:
  - metric: word_perplexity
"""
WRITE = """
task: svc_write
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "@table type Book"
generation_kwargs:
  until: ["("]
  max_gen_toks: 60
metric_list:
  - metric: exact_match
"""


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


rows = [
    {"question": QUESTION, "choices": ["@table type Book {", "@query fn count_dogs(", "banana banana"], "answer": 0},
    {"question": "Count all orders.", "choices": ["banana banana", "@query fn", "@table type Book {"], "answer": 1},
]
data = write("data.jsonl", "\n".join(json.dumps(row) for row in rows))
for name, text in (("choice.yaml", CHOICE), ("text.yaml", TEXT), ("write.yaml", WRITE)):
    start = START.replace("\n", "\\n")
    write(name, (COMMON + text).format(data=data, start=start))
tasks = TaskManager(include_path=folder, include_defaults=False)


def evaluate(model, task, **options):
    arguments = {"model": MODEL, "max_retries": 1, **options}
    return simple_evaluate(model=model, model_args=arguments, tasks=[task], task_manager=tasks, bootstrap_iters=0)


@check
def completions_loglikelihood():
    # The tokenizer comes from the server, as from vLLM's.
    result = evaluate("local-completions", "svc_choice", base_url=f"{URL}/v1/completions", batch_size=2)
    equal(result["results"]["svc_choice"]["acc,none"], 1.0)


@check
def completions_perplexity():
    result = evaluate("local-completions", "svc_text", base_url=f"{URL}/v1/completions")
    assert 1 < result["results"]["svc_text"]["word_perplexity,none"] < 1e9


@check
def completions_generate():
    result = evaluate("local-completions", "svc_write", base_url=f"{URL}/v1/completions")
    equal(len(result["samples"]["svc_write"]), 2)


@check
def chat_generate():
    options = {"base_url": f"{URL}/v1/chat/completions"}
    result = simple_evaluate(
        model="local-chat-completions",
        model_args={"model": MODEL, "max_retries": 1, **options},
        tasks=["svc_write"],
        task_manager=tasks,
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    contains(result["samples"]["svc_write"][0]["resps"][0][0], ANSWER)


check.end()
