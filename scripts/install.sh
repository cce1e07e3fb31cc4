#!/usr/bin/env bash
# Build and install mashal into .venv (made if absent), with the extras named by the argument ("demo", "test,dev", ...).
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -x .venv/bin/python ]]; then
    "${PYTHON:-python3}" -m venv .venv
fi
pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }
echo "installing mashal into .venv (compiles its C++ the first time: some minutes) ..." >&2
# The build's own requirements go into .venv as well: without pip's isolated (each time new) build environment, only
# what changed is compiled again.
PATH="$PWD/.venv/bin:$PATH"
python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
    >.venv/build-requires.txt
pip install -r .venv/build-requires.txt "cmake>=3.24" ninja
pip install --no-build-isolation ".[$1]"
