"""Networks of the benchmarks, each written once: ``build(t)`` makes it with the framework ``t`` (mashal or torch)."""
