"""Distances and similarities: the operations of the same names."""

import mashal

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]

cosine_similarity = mashal.cosine_similarity
pairwise_distance = mashal.pairwise_distance
pdist = mashal.pdist
