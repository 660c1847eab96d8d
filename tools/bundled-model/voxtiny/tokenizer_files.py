"""Trains byte-level BPE tokenizers and writes the two tokenizer files of a run directory."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from .chatml import END_OF_TEXT, IM_END, SPECIAL_TOKENS, TEMPLATE

# The split of the Qwen2 family: contractions, words with one leading mark, single digits, punctuation, white space.
QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# The split of vox-tiny. CamelCase falls apart at its humps and a final "s" stands alone, so that "field notes",
# "FieldNote" and "field_notes" share their pieces and a small model can copy words that it never saw.
VOX_SPLIT = (
    r" ?\p{Lu}?\p{Ll}+?(?=s(?!\p{L}))| ?\p{Lu}?\p{Ll}+| ?\p{Lu}+(?!\p{Ll})| ?\p{L}|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+|\n+ *|\s+(?!\S)|\s"
)


def train_byte_level_bpe(
    texts: Iterable[str], vocabulary_size: int, split: str | None = None, nfc: bool = False
) -> Tokenizer:
    """Trains a tokenizer. Default of `split`: the pattern of ByteLevel, which is that of GPT-2."""
    tokenizer = Tokenizer(models.BPE())
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    if split is None:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(split), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary_size,
            special_tokens=SPECIAL_TOKENS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def write_tokenizer_files(tokenizer: Tokenizer, directory: Path, context_length: int) -> None:
    """Writes tokenizer.json and tokenizer_config.json (chat template, end tokens)."""
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": None,
        "eos_token": IM_END,
        "pad_token": END_OF_TEXT,
        "unk_token": None,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context_length,
        "chat_template": TEMPLATE,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
