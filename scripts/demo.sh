#!/usr/bin/env bash
# Build and install mashal into .venv (made if absent), then train a small network on handwritten digits.
# Arguments go to examples/train_digits.py, e.g. --data DIR --epochs 3.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh demo
exec .venv/bin/python examples/train_digits.py "$@"
