"""Data loading and other tools around the tensor library."""
