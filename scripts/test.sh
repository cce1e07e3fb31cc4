#!/usr/bin/env bash
# Build and install mashal with its test tools into .venv (made if absent), then run the tests.
# Arguments go to pytest. EXTRAS names the extras to install ("test" unless set).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh "${EXTRAS:-test}"
PATH="$PWD/.venv/bin:$PATH" exec .venv/bin/python -m pytest "$@"
