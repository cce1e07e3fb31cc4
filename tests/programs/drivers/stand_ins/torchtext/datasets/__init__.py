"""Pairs of sentences."""

import random

from . import multi30k

__all__ = ["Multi30k", "multi30k"]

WORDS = {"ein": "a", "der": "the", "hund": "dog", "mann": "man", "läuft": "runs", "sieht": "sees", "roten": "red"}


def Multi30k(split, language_pair):
    """Sentences of a few words, translated word by word."""
    chosen = random.Random(split)
    pairs = []
    for _ in range({"train": 24, "valid": 8}[split]):
        german = chosen.choices(list(WORDS), k=chosen.randint(3, 7))
        sentence = {"de": " ".join(german) + "\n", "en": " ".join(WORDS[word] for word in german) + "\n"}
        pairs.append(tuple(sentence[language] for language in language_pair))
    return pairs
