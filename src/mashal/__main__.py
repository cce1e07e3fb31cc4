"""``python -m mashal SCRIPT [ARGS]`` runs a PyTorch program on mashal."""

from __future__ import annotations

from ._runner import main

if __name__ == "__main__":
    main()
