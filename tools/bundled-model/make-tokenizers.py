"""Writes small tokenizers that are built like those of the public families, with results of the reference, for tests.

Usage: python make-tokenizers.py FOLDER
Writes FOLDER/NAME.json, a tokenizer.json, and FOLDER/expected.json: name -> texts with tokens and decoded text.
"""

import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

VOCABULARY = 420
CORPUS = [
    "@table type Task {\n  title: str\n  done: bool\n}",
    "It's 2026, and we'll see how a quick brown fox jumps over the lazy dog, isn't it?",
    "naïve façade Ünïcödé 日本語 中文 한국어",
] * 20
TEXTS = [
    "",
    " ",
    "\n",
    "   leading, trailing   ",
    "two  three   four    spaces",
    "tabs\tand\r\nCRLF\n\n\nthree newlines",
    "It's 2026; WE'LL see 3.14159 and 1,000,000!",
    "e\u0301 decomposed, \u00e9 composed",
    "日本語のテキスト、中文字符，한국어",
    "emoji 🙂👩‍👩‍👧‍👦🏳️‍🌈 end",
    "zero\u200bwidth, nbsp\u00a0here, bom\ufeff, a▁marker",
    "<start_of_turn>user\nHi<end_of_turn>\n<eos>",
    "[INST] Hi[/INST] a</s>",
    "<|end|>\n<|eot_id|> b <|eot_i",
    "@query fn f(a: int) to List[T] { return db.T.filter({ a: a }) }",
    "\u0000\u0001\u007f control",
]
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CASED_SPLIT = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def sentencepiece_bpe() -> Tokenizer:
    return Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))


def sentencepiece_decoder(*more: decoders.Decoder) -> decoders.Decoder:
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *more])


def gemma() -> tuple[Tokenizer, list[str]]:
    tokenizer = sentencepiece_bpe()
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = sentencepiece_decoder()
    return tokenizer, ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]


def llama2() -> tuple[Tokenizer, list[str]]:
    """Builds a tokenizer like that of Llama 2 and Phi 3."""
    tokenizer = sentencepiece_bpe()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = sentencepiece_decoder(decoders.Strip(" ", 1, 0))
    return tokenizer, ["<unk>", "<s>", "</s>", "<|end|>"]


def mistral() -> tuple[Tokenizer, list[str]]:
    tokenizer = sentencepiece_bpe()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False)
    tokenizer.decoder = sentencepiece_decoder(decoders.Strip(" ", 1, 0))
    return tokenizer, ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]


def byte_level(pattern: str, **options: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def llama3() -> tuple[Tokenizer, list[str]]:
    return byte_level(LLAMA3_SPLIT, ignore_merges=True), ["<|begin_of_text|>", "<|eot_id|>"]


def nemo() -> tuple[Tokenizer, list[str]]:
    """Builds a tokenizer like the later ones of Mistral. That of Phi 4-mini splits text in almost the same way."""
    return byte_level(CASED_SPLIT), ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]


def build(name: str, tokenizer: Tokenizer, special: list[str]) -> Tokenizer:
    falls_back = "byte_fallback" in tokenizer.to_str() and json.loads(tokenizer.to_str())["model"]["byte_fallback"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special + (BYTES if falls_back else []),
        initial_alphabet=[] if falls_back else pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    document = json.loads(tokenizer.to_str())
    # Trainers declare all given tokens as special. In public tokenizers, byte tokens are not special.
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in BYTES]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    if name == "gemma":
        tokenizer.add_tokens([AddedToken(run, normalized=False) for run in ("▁▁", "▁▁▁", "\n\n")])
    return tokenizer


def expectation(tokenizer: Tokenizer, text: str) -> dict[str, object]:
    tokenizer.encode_special_tokens = True
    ordinary = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    special = tokenizer.encode(text, add_special_tokens=False).ids
    decoded = tokenizer.decode(ordinary, skip_special_tokens=False)
    return {"text": text, "ordinary": ordinary, "special": special, "decoded": decoded}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for make in (gemma, llama2, mistral, llama3, nemo):
        tokenizer = build(make.__name__, *make())
        tokenizer.save(str(folder / f"{make.__name__}.json"), pretty=False)
        expected[make.__name__] = [expectation(tokenizer, text) for text in TEXTS]
    lines = [f" {json.dumps(name)}: {json.dumps(texts, separators=(',', ':'))}" for name, texts in expected.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
