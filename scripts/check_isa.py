"""Check that no wide instruction can reach a processor without it: ``check_isa.py BUILD_FOLDER``.

Sources under csrc/cpu/isa are compiled once per instruction set. An inline function or template instance outside the
namespace of the set (``std::vector::push_back``, say) is then a weak symbol of several objects, of which the linker
keeps the first. mashal_core orders its objects so that a narrow one comes first; what remains dangerous is a weak
symbol that only wide objects define. Such a symbol must name the instruction set, or the source must be changed.
"""

import re
import subprocess
import sys
from pathlib import Path

WIDE = ("avx2", "avx512")


def weak_symbols(objects: list[Path]) -> set[str]:
    """Return the mangled names of the weak definitions in the objects."""
    if not objects:
        return set()
    listing = subprocess.run(["nm", "--defined-only", "-P", *objects], check=True, capture_output=True, text=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return {row[0] for row in rows if len(row) > 1 and row[1] in "WVu"}


def main() -> int:
    """Print the offending symbols, and return the exit status."""
    build = Path(sys.argv[1]) / "CMakeFiles"
    narrow = weak_symbols([path for path in build.rglob("*.o") if not re.search(r"mashal_isa_avx", str(path))])
    bad = 0
    for isa in WIDE:
        own = weak_symbols(sorted((build / f"mashal_isa_{isa}.dir").rglob("*.o")))
        for symbol in sorted(own - narrow):
            # A mangled nested name spells each part with its length, so this is the namespace and not a substring.
            if f"{len(isa)}{isa}" not in symbol:
                print(f"{isa}: only wide objects define {symbol}")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
