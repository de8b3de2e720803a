"""`python -m mts`: the command line program, which is part of the package."""
from __future__ import annotations

import os
import sys


def main() -> None:
    """Becomes the program `mts` with the arguments of this process; `sign` and `verify` are Python's own."""
    if len(sys.argv) > 1 and sys.argv[1] in ("sign", "verify"):
        from mts.signing import command
        sys.exit(command(sys.argv[1:]))
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "mts")
    if not os.path.exists(program):
        sys.exit("mts: this package was built without the program (MTS_APPS=OFF)")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
