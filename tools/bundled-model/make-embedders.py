"""Writes tiny random embedding models and rerankers, with the vectors of sentence-transformers, model2vec and
transformers in fp32, for tests of the engine.

Usage: python make-embedders.py FOLDER
Writes one folder for each model, and FOLDER/expected.json: name -> texts, their tokens, vectors or scores.
"""

import json
import sys
from pathlib import Path

import numpy
import torch
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    DistilBertModel,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    ModernBertModel,
    MPNetConfig,
    MPNetForSequenceClassification,
    MPNetModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3Model,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

from voxtiny.random_weights import randomise

VOCABULARY = 300
CORPUS = [
    "a quick brown fox jumps over the lazy dog, isn't it?",
    "what is the capital of france? paris is the capital of france.",
    "naïve façade Ünïcödé 日本語 中文 한국어",
    "retries with a limit of 3; the queue holds 512 requests",
] * 20
TEXTS = [
    "a quick brown fox",
    "",
    "What is the capital of France?",
    "Paris is the capital of France, naïve façade",
    "日本語 中文 한국어 and retries   with a\nlimit of 3",
    "the lazy dog jumps over the queue of 512 requests, isn't it?",
    "zyx ☃ qqq",
]
PAIRS = [
    (TEXTS[2], TEXTS[3]),
    (TEXTS[2], TEXTS[0]),
    (TEXTS[2], TEXTS[5]),
    (TEXTS[0], ""),
    (TEXTS[2] * 2, TEXTS[5] * 5),
]
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
}


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return tokenizer


def byte_level(end: str | None) -> Tokenizer:
    special = ["<s>", "<pad>", "</s>", "<unk>"] if end is None else ["<|endoftext|>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.decoder = decoders.ByteLevel()
    if end is None:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    else:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A:0 {end}:0", pair=f"$A:0 $B:1 {end}:1", special_tokens=[(end, 0)]
        )
    return tokenizer


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def save(folder: Path, model, tokenizer: Tokenizer, special: dict, limit: int) -> None:
    randomise(model, 11)
    model.eval().save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=limit, **special).save_pretrained(folder)


def modules(folder: Path, pooling: str, normalise: bool, limit: int, prompts: dict[str, str] | None = None) -> None:
    kinds = ["Transformer", "Pooling"] + (["Normalize"] if normalise else [])
    names = ["", "1_Pooling", "2_Normalize"]
    write_json(
        folder / "modules.json",
        [
            {"idx": at, "name": str(at), "path": names[at], "type": f"sentence_transformers.models.{kind}"}
            for at, kind in enumerate(kinds)
        ],
    )
    flags = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    pooled = {f"pooling_mode_{flag}": flag == pooling for flag in flags}
    write_json(folder / "1_Pooling/config.json", {"word_embedding_dimension": 32, **pooled, "include_prompt": True})
    if normalise:
        (folder / "2_Normalize").mkdir(exist_ok=True)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": limit, "do_lower_case": False})
    if prompts is not None:
        write_json(
            folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None}
        )


def embedder(folder: Path, prompts: tuple[str, ...] = ()) -> dict:
    reference = SentenceTransformer(str(folder), device="cpu")
    rows = reference.encode(TEXTS, batch_size=3)
    answer = {"texts": TEXTS, "tokens": [reference.tokenizer(text)["input_ids"] for text in TEXTS]}
    answer["vectors"] = rows.astype(float).round(7).tolist()
    for name in prompts:
        answer[name] = reference.encode(TEXTS[:3], prompt_name=name).astype(float).round(7).tolist()
    return answer


def reranker(model, folder: Path) -> dict:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    scores = []
    for query, document in PAIRS:
        with torch.no_grad():
            row = tokenizer([query], [document], return_tensors="pt", return_token_type_ids=True, truncation=True)
            if getattr(model.config, "type_vocab_size", 1) == 1:
                row.pop("token_type_ids")
            scores.append(torch.sigmoid(model(**row).logits)[0, 0].item())
    return {"pairs": PAIRS, "scores": scores}


def static(folder: Path) -> dict:
    from model2vec import StaticModel

    tokenizer = word_piece()
    size = tokenizer.get_vocab_size()
    vectors = numpy.random.default_rng(5).normal(size=(size, 16)).astype(numpy.float32)
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    (folder / "README.md").unlink()
    reference = StaticModel.from_pretrained(folder)
    return {"texts": TEXTS, "vectors": reference.encode(TEXTS).astype(float).round(7).tolist()}


def weighted(folder: Path) -> dict:
    """Writes rows that tokens share, with weights, as models with a quantised vocabulary have them."""
    tokenizer = word_piece()
    size = tokenizer.get_vocab_size()
    random = numpy.random.default_rng(7)
    rows = random.normal(size=(24, 16)).astype(numpy.float32)
    mapping = random.integers(0, 24, size=size)
    weights = random.uniform(0.1, 2, size=size)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": rows, "mapping": mapping, "weights": weights}, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "config.json", {"model_type": "model2vec", "normalize": False})
    from model2vec import StaticModel

    reference = StaticModel.from_pretrained(folder)
    return {"texts": TEXTS, "vectors": reference.encode(TEXTS).astype(float).round(7).tolist()}


def dense(folder: Path, sizes: tuple[int, ...], kinds: tuple[str, ...]) -> None:
    """Adds layers after the pooling, each with its activation, and a norm after them."""
    from safetensors.torch import save_file as save_tensors

    list_file = folder / "modules.json"
    entries = json.loads(list_file.read_text(encoding="utf-8"))[:2]
    for at, kind in enumerate(kinds):
        path = f"{at + 2}_Dense"
        bias = at == 0
        config = {
            "in_features": sizes[at],
            "out_features": sizes[at + 1],
            "bias": bias,
            "activation_function": f"torch.nn.modules.{kind}",
        }
        write_json(folder / path / "config.json", config)
        layer = torch.nn.Linear(sizes[at], sizes[at + 1], bias=bias)
        randomise(layer, 13 + at)
        tensors = {f"linear.{name}": value.detach().clone() for name, value in layer.named_parameters()}
        save_tensors(tensors, folder / path / "model.safetensors")
        entries.append({"idx": at + 2, "name": path, "path": path, "type": "sentence_transformers.models.Dense"})
    at = len(entries)
    path = f"{at}_Normalize"
    (folder / path).mkdir(exist_ok=True)
    entries.append({"idx": at, "name": path, "path": path, "type": "sentence_transformers.models.Normalize"})
    write_json(list_file, entries)


def export(folder: Path, model, tokenizer: Tokenizer, special: dict) -> None:
    """Writes a graph with dynamic sizes, in the form of exports of Optimum."""
    randomise(model, 11)
    model.eval().config.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **special).save_pretrained(folder)
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids, attention_mask, token_type_ids).last_hidden_state

    example = tuple(torch.ones((2, 5), dtype=torch.int64) for _ in names)
    axes = {name: {0: "batch_size", 1: "sequence_length"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(
        Graph(), example, str(folder / "model.onnx"), input_names=names, output_names=["last_hidden_state"],
        dynamic_axes=axes, opset_version=17, dynamo=False,
    )


def main(out: Path) -> None:
    torch.manual_seed(3)
    expected = {}
    bert = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    roberta = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    bert_shape = BertConfig(**SHAPE, max_position_embeddings=64, num_labels=1)
    xlm_shape = {**SHAPE, "max_position_embeddings": 130, "pad_token_id": 1, "type_vocab_size": 1}

    save(out / "bert", BertModel(bert_shape), word_piece(), bert, 64)
    modules(out / "bert", "mean_tokens", True, 24, {"query": "query: ", "passage": "passage: "})
    expected["bert"] = embedder(out / "bert", ("query", "passage"))

    save(out / "xlm-roberta", XLMRobertaModel(XLMRobertaConfig(**xlm_shape)), unigram(), roberta, 128)
    modules(out / "xlm-roberta", "cls_token", False, 64)
    expected["xlm-roberta"] = embedder(out / "xlm-roberta")

    save(out / "roberta", RobertaModel(RobertaConfig(**xlm_shape)), byte_level(None), roberta, 64)
    modules(out / "roberta", "weightedmean_tokens", True, 64)
    expected["roberta"] = embedder(out / "roberta")

    model = BertForSequenceClassification(bert_shape)
    save(out / "bert-reranker", model, word_piece(), bert, 64)
    expected["bert-reranker"] = reranker(model, out / "bert-reranker")

    model = XLMRobertaForSequenceClassification(XLMRobertaConfig(**xlm_shape, num_labels=1))
    save(out / "xlm-roberta-reranker", model, unigram(), roberta, 128)
    expected["xlm-roberta-reranker"] = reranker(model, out / "xlm-roberta-reranker")

    expected["static"] = static(out / "static")
    expected["static-weighted"] = weighted(out / "static-weighted")

    model = BertModel(bert_shape)
    export(out / "exported", model, word_piece(), bert)
    modules(out / "exported", "mean_tokens", True, 32)
    model.save_pretrained(out / "exported")
    expected["exported"] = embedder(out / "exported")
    (out / "exported/model.safetensors").unlink()

    qwen = Qwen3Config(
        **SHAPE, num_key_value_heads=2, head_dim=16, max_position_embeddings=64, pad_token_id=0, eos_token_id=0
    )
    qwen_special = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    save(out / "qwen3", Qwen3Model(qwen), byte_level("<|endoftext|>"), qwen_special, 64)
    modules(out / "qwen3", "lasttoken", True, 64)
    expected["qwen3"] = embedder(out / "qwen3")

    families(out, expected, bert, roberta)
    write_json(out / "expected.json", expected)


def families(out: Path, expected: dict, bert: dict, roberta: dict) -> None:
    """Writes encoders that differ from BERT in positions, norms or feed-forward layers."""
    mpnet = MPNetConfig(**SHAPE, max_position_embeddings=130, num_labels=1)
    save(out / "mpnet", MPNetModel(mpnet), byte_level(None), roberta, 128)
    modules(out / "mpnet", "mean_tokens", True, 128)
    expected["mpnet"] = embedder(out / "mpnet")

    model = MPNetForSequenceClassification(mpnet)
    save(out / "mpnet-reranker", model, byte_level(None), roberta, 128)
    expected["mpnet-reranker"] = reranker(model, out / "mpnet-reranker")

    distilbert = DistilBertConfig(
        vocab_size=VOCABULARY, dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=64, num_labels=1
    )
    save(out / "distilbert", DistilBertModel(distilbert), word_piece(), bert, 64)
    modules(out / "distilbert", "mean_tokens", False, 64)
    dense(out / "distilbert", (32, 24, 20), ("activation.Tanh", "linear.Identity"))
    expected["distilbert"] = embedder(out / "distilbert")

    model = DistilBertForSequenceClassification(distilbert)
    save(out / "distilbert-reranker", model, word_piece(), bert, 64)
    expected["distilbert-reranker"] = reranker(model, out / "distilbert-reranker")

    rotary = {"rope_type": "default", "rope_theta": 1000.0}
    shape = {**SHAPE, "num_attention_heads": 2}
    nomic = NomicBertConfig(**shape, max_position_embeddings=64, rope_parameters=rotary)
    save(out / "nomic", NomicBertModel(nomic), word_piece(), bert, 64)
    modules(out / "nomic", "mean_tokens", True, 64, {"query": "search query: ", "passage": "search document: "})
    expected["nomic"] = embedder(out / "nomic", ("query", "passage"))

    tokens = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    modern = ModernBertConfig(
        **{**shape, "num_hidden_layers": 3},
        **tokens,
        max_position_embeddings=64,
        local_attention=8,
        num_labels=1,
        classifier_pooling="mean",
    )
    save(out / "modernbert", ModernBertModel(modern), word_piece(), bert, 64)
    modules(out / "modernbert", "cls_token", True, 64)
    expected["modernbert"] = embedder(out / "modernbert")

    model = ModernBertForSequenceClassification(modern)
    save(out / "modernbert-reranker", model, word_piece(), bert, 64)
    expected["modernbert-reranker"] = reranker(model, out / "modernbert-reranker")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
