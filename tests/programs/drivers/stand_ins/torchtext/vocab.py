"""Vocabularies."""

from collections import Counter


class Vocab:
    """A number for each token; unknown ones get the default."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.places = {token: i for i, token in enumerate(tokens)}
        self.default = None

    def __len__(self):
        return len(self.tokens)

    def __call__(self, tokens):
        return [self.places.get(token, self.default) for token in tokens]

    def set_default_index(self, index):
        self.default = index

    def lookup_tokens(self, indices):
        return [self.tokens[i] for i in indices]


def build_vocab_from_iterator(iterator, min_freq=1, specials=(), special_first=True):
    """The most frequent tokens first, equals in alphabetic order."""
    counts = Counter(token for tokens in iterator for token in tokens)
    ordered = sorted(counts, key=lambda token: (-counts[token], token))
    found = [token for token in ordered if counts[token] >= min_freq]
    return Vocab([*specials, *found] if special_first else [*found, *specials])
