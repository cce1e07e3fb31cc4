"""See ``utils``."""
