#!/usr/bin/env bash
# Builds mashal with the address and undefined-behaviour sanitizers into build/asan and runs the fuzzer and the tests of
# the kernels under them. Takes a while, so it is no part of .ci/run. Arguments go to the fuzzer (--count 200 --seed 3).
# Needs what a development build needs (CONTRIBUTING.md) in .venv or on the PATH, and GCC.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -d .venv/bin ]] && export PATH="$PWD/.venv/bin:$PATH"
build=$PWD/build/asan
python=$(command -v python)

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 \
    -DMASHAL_SANITIZE=address,undefined -DPython_EXECUTABLE="$python"
ninja -C "$build" -j "${JOBS:-$(nproc)}"
rm -rf "$build/site"
cmake --install "$build" --prefix "$build/site"
# The package: the sanitized module and its libraries beside the Python files of the working tree.
for file in src/mashal/*; do
    name=$(basename "$file")
    case $name in
        _core*.so* | lib | include | __pycache__) ;;
        *) ln -s "$PWD/$file" "$build/site/mashal/$name" ;;
    esac
done

# Python itself is not sanitized: the run-times must be loaded before it, and what it keeps for ever is no leak.
# A crash is left to faulthandler, which names the Python line; undefined behaviour ends the process like one.
run() {
    env LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
        PYTHONPATH="$build/site:$PWD" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:handle_segv=0:handle_abort=0:handle_sigfpe=0 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        OMP_NUM_THREADS=2 "$python" "$@"
}
run -c 'import mashal; assert "/build/asan/" in mashal._core.__file__, mashal._core.__file__'
run -m tests.fuzz --no-memory-limit --slowdown 6 --count 40 "$@"
run -m pytest -q -p no:cacheprovider tests/fuzz/test_regressions.py tests/ops tests/autograd
