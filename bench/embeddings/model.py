"""Writes random embedding models: the shape of all-MiniLM-L6-v2 as safetensors and as model.onnx, and a model2vec folder.

usage: model.py TARGET TEXTS
TEXTS: JSON list of texts, on which the vocabulary of 30,522 pieces is trained.
Needs torch, transformers, onnx, tokenizers, safetensors and numpy.
"""
import json
import os
import shutil
import sys

import numpy
import torch
from safetensors.numpy import save_file
from tokenizers import BertWordPieceTokenizer, Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

VOCABULARY = 30_522
MAX_TOKENS = 256
STATIC_SIZE = 256


class Exported(torch.nn.Module):
    """BertModel with the inputs and the output of a usual export."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def train_tokenizer(texts):
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(texts, vocab_size=VOCABULARY, min_frequency=1, show_progress=False)
    definition = json.loads(tokenizer._tokenizer.to_str())
    vocabulary = definition["model"]["vocab"]
    # The texts have fewer words than the vocabulary of the original model.
    vocabulary.update({f"[unused{index}]": index for index in range(len(vocabulary), VOCABULARY)})
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(definition))
    special = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer._tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    return tokenizer


def write_sentence_files(folder, size):
    """Writes the files of sentence-transformers: mean pooling and normalisation."""
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write_json(
        f"{folder}/modules.json",
        [
            {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for index, (path, kind) in enumerate(modules)
        ],
    )
    for path, _ in modules[1:]:
        os.makedirs(f"{folder}/{path}")
    write_json(
        f"{folder}/1_Pooling/config.json",
        {"word_embedding_dimension": size, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True},
    )
    write_json(f"{folder}/sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})


def write_encoder(target, tokenizer):
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=512,
        attn_implementation="eager",
    )
    torch.manual_seed(1)
    model = BertModel(config, add_pooling_layer=False).eval()
    folder, exported = f"{target}/safetensors", f"{target}/exported"
    model.save_pretrained(folder)
    tokenizer.save(f"{folder}/tokenizer.json")
    write_json(
        f"{folder}/tokenizer_config.json",
        {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": True,
            "model_max_length": MAX_TOKENS,
            "pad_token": "[PAD]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "unk_token": "[UNK]",
            "mask_token": "[MASK]",
        },
    )
    tokens = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
    names = ("pad_token", "cls_token", "sep_token", "unk_token", "mask_token")
    write_json(f"{folder}/special_tokens_map.json", dict(zip(names, tokens)))
    write_sentence_files(folder, config.hidden_size)
    shutil.copytree(folder, exported, ignore=shutil.ignore_patterns("model.safetensors"))
    os.makedirs(f"{exported}/onnx")
    ids = torch.randint(10, VOCABULARY, (2, 16))
    axes = {0: "batch_size", 1: "sequence_length"}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        Exported(model),
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        f"{exported}/onnx/model.onnx",
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: axes for name in [*names, "last_hidden_state"]},
        opset_version=14,
        dynamo=False,
    )


def write_static(target, tokenizer):
    folder = f"{target}/static"
    os.makedirs(folder)
    tokenizer._tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    tokenizer.save(f"{folder}/tokenizer.json")
    values = numpy.random.default_rng(1).standard_normal((VOCABULARY, STATIC_SIZE), dtype=numpy.float32)
    save_file({"embeddings": values}, f"{folder}/model.safetensors")
    write_json(f"{folder}/config.json", {"max_length": 512, "normalize": True, "embedding_dtype": "float32"})
    write_json(f"{folder}/modules.json", [{"idx": 0, "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}])


def main():
    target, source = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        texts = json.load(file)
    tokenizer = train_tokenizer(texts)
    os.makedirs(target)
    write_encoder(target, tokenizer)
    write_static(target, tokenizer)


main()
