"""Writes fixtures for the tests of plugins/speech: a tiny random Whisper model and the results of transformers.

Usage: python make-fixtures.py checkpoint CHECKPOINT
       optimum-cli export onnx --model CHECKPOINT --task automatic-speech-recognition-with-past EXPORT
       python make-fixtures.py expect CHECKPOINT EXPORT OUT

`OUT/model` is a model folder in the layout of Hugging Face, with the graphs in `onnx/`. `OUT/separate` has the two graphs that
the merged decoder replaces. `OUT/features.json` and `features.bin` contain log-mel features of `OUT/tones.wav`;
`OUT/expected.json` and `expected.bin` contain the results of the checkpoint for it.
"""

import json
import re
import shutil
import sys
import wave
from pathlib import Path

import numpy
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

RATE = 16_000
LANGUAGES = ["en", "de", "fr", "es"]
FILES = ["config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json"]
STEPS = 24
FRAMES = 220


def tones() -> numpy.ndarray:
    """Returns 1.9 seconds of 16-bit audio: a rising tone, a pause, two tones with noise."""
    generator = numpy.random.default_rng(11)
    time = numpy.arange(int(0.8 * RATE)) / RATE
    sweep = 0.4 * numpy.sin(2 * numpy.pi * (200 * time + 1500 * time**2))
    pause = numpy.zeros(int(0.4 * RATE))
    time = numpy.arange(int(0.7 * RATE)) / RATE
    chord = 0.3 * numpy.sin(2 * numpy.pi * 440 * time) + 0.2 * numpy.sin(2 * numpy.pi * 3100 * time)
    chord += 0.02 * generator.standard_normal(len(time))
    return numpy.round(numpy.concatenate([sweep, pause, chord]) * 32767).astype("<i2")


def write_wav(file: Path, samples: numpy.ndarray) -> None:
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(samples.tobytes())


def tokenizer() -> tuple[Tokenizer, dict[str, int]]:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["th", "the", "Ġthe", "Ġa", "in", "er", "Ġs", "on", "Ġw", "re", "Ġto", "Ġof", "and", "Ġand", "Ġis"]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "a"), ("i", "n"), ("e", "r"), ("Ġ", "s"), ("o", "n"), ("Ġ", "w")]
    merges += [("r", "e"), ("Ġ", "t"), ("Ġt", "o"), ("Ġ", "o"), ("Ġo", "f"), ("n", "d"), ("a", "nd"), ("Ġa", "nd"), ("Ġ", "i")]
    merges += [("Ġi", "s")]
    vocabulary = {character: at for at, character in enumerate(alphabet)}
    for left, right in merges:
        vocabulary.setdefault(left + right, len(vocabulary))
    assert all(word in vocabulary for word in words)
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    names = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in LANGUAGES), "<|translate|>"]
    names += ["<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    made.add_special_tokens([AddedToken(name, special=True) for name in names])
    made.add_tokens([AddedToken(f"<|{step * 0.02:.2f}|>", special=False) for step in range(51)])
    return made, {name: made.token_to_id(name) for name in names}


def checkpoint(out: Path) -> None:
    words, special = tokenizer()
    out.mkdir(parents=True, exist_ok=True)
    end = special["<|endoftext|>"]
    config = WhisperConfig(
        vocab_size=words.get_vocab_size(),
        num_mel_bins=80,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_source_positions=1500,
        max_target_positions=64,
        decoder_start_token_id=special["<|startoftranscript|>"],
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        begin_suppress_tokens=None,
        suppress_tokens=None,
    )
    torch.manual_seed(5)
    model = WhisperForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "layer_norm" in name:
                weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
            elif "embed_positions" in name and "encoder" in name:
                continue
            else:
                weight.copy_(0.35 * torch.randn(weight.shape, generator=generator))
        # Without these weights, the model would repeat one token and have low confidence.
        model.model.decoder.embed_positions.weight.mul_(5)
        model.model.decoder.layer_norm.weight.mul_(6)
    plain = re.compile(r"Ġ?[a-z]+")
    odd = [at for word, at in words.get_vocab().items() if at < end and not plain.fullmatch(word)]
    model.generation_config = GenerationConfig(
        decoder_start_token_id=special["<|startoftranscript|>"],
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        max_length=64,
        suppress_tokens=sorted([*odd, *range(end + 1, words.get_vocab_size())]),
        begin_suppress_tokens=[words.token_to_id("k"), end],
        is_multilingual=True,
        lang_to_id={f"<|{code}|>": special[f"<|{code}|>"] for code in LANGUAGES},
        task_to_id={"transcribe": special["<|transcribe|>"], "translate": special["<|translate|>"]},
        no_timestamps_token_id=special["<|notimestamps|>"],
        return_timestamps=False,
    )
    model.save_pretrained(out)
    words.save(str(out / "tokenizer.json"), pretty=False)
    names = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    (out / "tokenizer_config.json").write_text(
        json.dumps({**names, "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}, indent=1)
    )
    WhisperFeatureExtractor(feature_size=80).save_pretrained(out)
    preprocessor = json.loads((out / "preprocessor_config.json").read_text())
    preprocessor.pop("mel_filters", None)
    (out / "preprocessor_config.json").write_text(json.dumps(preprocessor, indent=1))


def copy_model(checkpoint_folder: Path, export: Path, out: Path) -> None:
    for folder in ("model/onnx", "separate"):
        shutil.rmtree(out / folder, ignore_errors=True)
        (out / folder).mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(checkpoint_folder / name, out / "model" / name)
    for name in ("encoder_model.onnx", "decoder_model_merged.onnx"):
        shutil.copyfile(export / name, out / "model" / "onnx" / name)
    for name in ("decoder_model.onnx", "decoder_with_past_model.onnx"):
        shutil.copyfile(export / name, out / "separate" / name)


def features_of(out: Path, samples: numpy.ndarray) -> None:
    blocks, listed, offset = [], [], 0
    for bins in (80, 128):
        extractor = WhisperFeatureExtractor(feature_size=bins)
        made = extractor(samples, sampling_rate=RATE, return_tensors="np").input_features[0]
        block = numpy.ascontiguousarray(made[:, :FRAMES], dtype="<f4")
        listed.append({"bins": bins, "frames": FRAMES, "offset": offset, "silence": float(made[0, -1])})
        blocks.append(block.ravel())
        offset += block.size
    numpy.concatenate(blocks).tofile(out / "features.bin")
    (out / "features.json").write_text(json.dumps({"audio": "tones.wav", "features": listed}, indent=1) + "\n")


def expect(checkpoint_folder: Path, export: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    copy_model(checkpoint_folder, export, out)
    pcm = tones()
    write_wav(out / "tones.wav", pcm)
    samples = pcm.astype(numpy.float32) / 32768
    features_of(out, samples)
    model = WhisperForConditionalGeneration.from_pretrained(checkpoint_folder).eval()
    extractor = WhisperFeatureExtractor.from_pretrained(checkpoint_folder)
    features = extractor(samples, sampling_rate=RATE, return_tensors="pt").input_features
    generation = model.generation_config
    words = Tokenizer.from_file(str(checkpoint_folder / "tokenizer.json"))
    cases, blocks, offset = [], [], 0
    with torch.no_grad():
        encoded = model.model.encoder(features)
        start = generation.decoder_start_token_id
        first = model(encoder_outputs=encoded, decoder_input_ids=torch.tensor([[start]])).logits[0, -1]
        languages = {code: float(first[generation.lang_to_id[f"<|{code}|>"]]) for code in LANGUAGES}
        for language, task in (("en", "transcribe"), ("de", "translate")):
            tokens = [start, generation.lang_to_id[f"<|{language}|>"], generation.task_to_id[task]]
            tokens.append(generation.no_timestamps_token_id)
            prompt = list(tokens)
            log_probability = 0.0
            rows = []
            for step in range(STEPS):
                logits = model(encoder_outputs=encoded, decoder_input_ids=torch.tensor([tokens])).logits[0, -1]
                rows.append(logits.numpy().astype("<f4"))
                masked = logits.clone()
                masked[generation.suppress_tokens] = -torch.inf
                if step == 0:
                    masked[generation.begin_suppress_tokens] = -torch.inf
                token = int(masked.argmax())
                log_probability += float(torch.log_softmax(masked, -1)[token])
                if token == generation.eos_token_id:
                    break
                tokens.append(token)
            made = tokens[len(prompt) :]
            cases.append(
                {
                    "language": language,
                    "task": task,
                    "prompt": prompt,
                    "tokens": made,
                    "text": words.decode(made, skip_special_tokens=True),
                    "logProbability": log_probability,
                    "steps": len(rows),
                    "offset": offset,
                }
            )
            blocks += rows
            offset += sum(row.size for row in rows)
        made = model.generate(
            features, language="en", task="transcribe", max_new_tokens=STEPS, do_sample=False, num_beams=1
        )[0].tolist()
    numpy.concatenate(blocks).tofile(out / "expected.bin")
    known = {
        "vocabulary": model.config.vocab_size,
        "steps": STEPS,
        "encoder": {"shape": list(encoded[0].shape), "beginning": encoded[0][0, :2].flatten().tolist()},
        "languages": languages,
        "cases": cases,
        "generated": [token for token in made if token < generation.eos_token_id],
    }
    (out / "expected.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    {"checkpoint": checkpoint, "expect": expect}[command](*map(Path, paths))
