"""A stand-in for torchtext: a tokenizer, a vocabulary and a synthetic language pair."""
