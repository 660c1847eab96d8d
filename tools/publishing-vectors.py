#!/usr/bin/env python3
"""Writes test vectors of the plugin publication: digests of manifests, worthiness, and readiness.

It is written from the specification (sections 7.1 and 7.4 of the services), not from the TypeScript. Numbers are exact
fractions, so that limits such as .85 are exact. Usage, from the root of the repository:

    python3 tools/publishing-vectors.py > plugins/publication/test/fixtures/vectors.json
"""

import hashlib
import itertools
import json
import random
import sys
from fractions import Fraction

KEYS = [
    "abstract_text",
    "author",
    "body_markdown",
    "citations_json",
    "content_type",
    "metadata_json",
    "publication_id",
    "source_ref",
    "title",
]
OPTIONAL = {"abstract_text", "citations_json", "metadata_json", "source_ref"}

WEIGHTS = {
    "epistemic": Fraction(30, 100),
    "reproducibility": Fraction(25, 100),
    "novelty": Fraction(20, 100),
    "reliability": Fraction(15, 100),
    "metadata_policy": Fraction(10, 100),
}
MINIMA = {
    "claim_evidence": Fraction(90, 100),
    "replayability": Fraction(85, 100),
    "before_after": Fraction(90, 100),
    "metadata": Fraction(90, 100),
    "ai_disclosure": Fraction(1),
}
RED_LINES = [
    "fabricated_data",
    "plagiarism",
    "undisclosed_ai",
    "undisclosed_conflict",
    "license_violation",
    "personal_data",
    "unsafe_disclosure",
    "unreproducible_claim",
]
PUBLISH = Fraction(85, 100)
ABSTAIN = Fraction(65, 100)
POINTS = {"error": 25, "warning": 5, "info": 1}


def digest(content):
    """SHA3-256 of the compact JSON object of the nine keys in alphabetical order; absent values are null."""
    ordered = {key: content.get(key) for key in sorted(KEYS)}
    text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha3_256(text.encode("utf-8")).hexdigest()


def manifests():
    """Contents with the characters that differ between writers of JSON."""
    texts = [
        "",
        "plain",
        "quote \" backslash \\ slash / tab \t newline \n return \r",
        "controls \u0001\u0007\b\f\u001f\u007f\u0080",
        "separators \u2028\u2029",
        "Größe, naïve, 日本語, 😀👩‍👩‍👧, e\u0301",
        "<script>&amp;</script>",
        '{"license":"CC-BY-4.0"}',
        "x" * 300,
    ]
    rng = random.Random(20260)
    yield {key: (None if key in OPTIONAL else "a") for key in KEYS}
    for text in texts:
        for key in KEYS:
            content = {each: (None if each in OPTIONAL else "a") for each in KEYS}
            content[key] = text
            yield content
    for _ in range(60):
        yield {key: rng.choice(texts + ([None] if key in OPTIONAL else [])) for key in KEYS}


def rate(evidence):
    """The report of section 7.4 for known evidence; null without evidence."""
    if evidence is None:
        return {"score": None, "decision": "AskForEvidence", "failed_minima": [], "red_lines": []}

    def value(name):
        number = evidence.get(name, 0)
        return Fraction(str(number)) if 0 <= number <= 1 else Fraction(0)

    score = sum(weight * value(name) for name, weight in WEIGHTS.items())
    failed = [name for name, minimum in MINIMA.items() if value(name) < minimum]
    lines = list(evidence.get("red_lines", []))
    if score < ABSTAIN or lines:
        decision = "AbstainDoNotPublish"
    elif score >= PUBLISH and evidence.get("meaningful_advance") is True and not failed:
        decision = "Publish"
    else:
        decision = "AskForEvidence"
    return {"score": float(score), "decision": decision, "failed_minima": failed, "red_lines": lines}


def evidences():
    good = {**{name: 1 for name in WEIGHTS}, **{name: 1 for name in MINIMA}, "meaningful_advance": True}
    yield None
    yield {}
    yield good
    # At and around the limits of the decisions, with all parts equal.
    for number in [0.64, 0.6499, 0.65, 0.6501, 0.66, 0.84, 0.8499, 0.85, 0.8501, 0.86, 0, 1]:
        for advance in [True, False]:
            yield {**good, **{name: number for name in WEIGHTS}, "meaningful_advance": advance}
    # At and around each minimum.
    for name, minimum in MINIMA.items():
        for step in ["-0.01", "-0.0001", "0"]:
            yield {**good, name: float(minimum + Fraction(step))}
        yield {key: number for key, number in good.items() if key != name}
    for line in RED_LINES:
        yield {**good, "red_lines": [line]}
    yield {**good, "red_lines": RED_LINES}
    # Numbers that are out of range count as 0.
    for name in WEIGHTS:
        for number in [-0.5, 1.5, 2]:
            yield {**good, name: number}
    rng = random.Random(20261)
    for _ in range(400):
        evidence = {name: rng.randint(0, 100) / 100 for name in WEIGHTS}
        if rng.random() < 0.5:
            evidence = {name: rng.randint(80, 100) / 100 for name in WEIGHTS}
        for name in MINIMA:
            evidence[name] = rng.choice([1, 1, 1, 0.95, 0.9, 0.85, 0.8])
        evidence["meaningful_advance"] = rng.random() < 0.7
        if rng.random() < 0.1:
            evidence["red_lines"] = [rng.choice(RED_LINES)]
        yield evidence


def readiness():
    """100 points, less those of each finding, and never below 0. The points are those of the plugin's README."""
    for errors, warnings, infos in itertools.product(range(6), range(0, 22, 3), range(0, 11, 5)):
        severities = ["error"] * errors + ["warning"] * warnings + ["info"] * infos
        score = max(0, 100 - sum(POINTS[severity] for severity in severities))
        yield {"errors": errors, "warnings": warnings, "infos": infos, "score": score}


def main():
    vectors = {
        "digests": [{"content": content, "sha3_256": digest(content)} for content in manifests()],
        "worthiness": [{"evidence": evidence, **rate(evidence)} for evidence in evidences()],
        "readiness": list(readiness()),
    }
    # Escaped, so that no editor changes characters such as U+2028.
    json.dump(vectors, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


main()
