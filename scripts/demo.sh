#!/usr/bin/env bash
# Build and install mashal into .venv (made if absent), then train a small network on handwritten digits.
# Arguments go to examples/train_digits.py, e.g. --data DIR --epochs 3.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ! -x .venv/bin/python ]]; then
    "${PYTHON:-python3}" -m venv .venv
fi
echo "installing mashal into .venv (compiles its C++ the first time: some minutes) ..."
.venv/bin/python -m pip --quiet --disable-pip-version-check install ".[demo]"
exec .venv/bin/python examples/train_digits.py "$@"
