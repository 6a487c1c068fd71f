"""The files a check looks at: sources of the tree, without build outputs and hidden folders."""
import os
import sys
from pathlib import Path

SKIPPED = {"build", "__pycache__"}
CPP = {".h", ".cpp"}
DEVICE = {".cu", ".cuh"}


def files(root, suffixes, folders=("gpuforge", "cli", "examples", "bench", "python", "tests")):
    """Paths below `folders` of `root` with one of `suffixes`, sorted, relative to `root`."""
    found = []
    for folder in folders:
        for where, names, leaves in os.walk(Path(root) / folder):
            names[:] = [n for n in names if n not in SKIPPED and not n.startswith(".")]
            found += [Path(where, leaf).relative_to(root) for leaf in leaves if Path(leaf).suffix in suffixes]
    return sorted(found)


def root_from_arguments(arguments):
    """The tree to check: the one named, or the one this script lies in."""
    return Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent


def finish(name, problems, looked_at):
    """Prints every problem and ends the check: 1 when there is one, 2 when there was nothing to look at."""
    for problem in problems:
        print(problem)
    if looked_at == 0:
        print(f"{name}: no source files found; is this the root of the tree?")
        sys.exit(2)
    print(f"{name}: {looked_at} files, {len(problems)} problem{'' if len(problems) == 1 else 's'}")
    sys.exit(1 if problems else 0)
