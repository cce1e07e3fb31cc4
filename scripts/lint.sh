#!/usr/bin/env bash
# Every check that needs no test run: formatting, lint, types, the C++/Python border, instruction sets.
# Uses the tools of .venv (EXTRAS=test,dev scripts/test.sh), or those on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -d .venv/bin ]] && export PATH="$PWD/.venv/bin:$PATH"

ruff check .
ruff format --check .
git ls-files -z 'csrc/*.h' 'csrc/*.cpp' | xargs -0 --no-run-if-empty clang-format --dry-run -Werror
mypy

# Only csrc/python may know Python.
if grep -rnE '#include *[<"](Python\.h|nanobind)' csrc --include='*.h' --include='*.cpp' | grep -v '^csrc/python/'; then
    echo "lint: the lines above include Python or nanobind outside csrc/python" >&2
    exit 1
fi

for build in build/*/; do
    if [[ -d $build/CMakeFiles ]]; then
        python3 scripts/check_isa.py "$build"
    fi
done
