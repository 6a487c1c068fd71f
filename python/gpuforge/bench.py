"""`python -m gpuforge.bench ARGUMENTS` is `gpuforge bench ARGUMENTS`; with --peers, ours beside other libraries."""

from __future__ import annotations

import itertools
import sys

from . import _command


def main(arguments: list[str]) -> int:
    flags = itertools.takewhile(lambda word: word != "--", arguments)
    if any(word.split("=")[0] == "--peers" for word in flags):
        from .peers import main as peers

        return peers.run(arguments)
    _command.run("bench", *arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
