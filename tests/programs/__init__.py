"""Public PyTorch programs, unchanged, under the alias and under PyTorch: see ``__main__`` and ``test_programs``."""
