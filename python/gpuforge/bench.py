"""Benchmarks of the library's ops: `python -m gpuforge.bench --suite smoke`.

The suites are those of `gpuforge bench`; every case is verified before it is measured. Exit code 1: one failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import gpuforge as gf


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gpuforge.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--suite", default="smoke", help=f"one of {', '.join(gf.lab.suites())}")
    parser.add_argument("--op", action="append", help="only this op (may be repeated)")
    parser.add_argument("--device", help="cuda:N, sim or cpu")
    parser.add_argument("--seconds", type=float, default=1.0, help="of measuring, for each case")
    parser.add_argument("--json", action="store_true", help="a document instead of a table")
    parser.add_argument("--save", metavar="FILE", help="also write the document to a file")
    return parser.parse_args(arguments)


def line(result: dict[str, Any], case: dict[str, Any]) -> str:
    what = f"{case['op']:24} {case['dtype']:9} {'x'.join(map(str, case['shape'])):14} {case['variant']:9}"
    if not result["good"]:
        return f"{what} failed: {result['failure']}"
    if result["median_ms"] is None:
        return f"{what} verified; the simulator has no time"
    return f"{what} {result['median_ms'] * 1000:10.1f} us {result['gb_per_s']:9.1f} GB/s"


def main(arguments: list[str]) -> int:
    if any(word.split("=")[0] == "--peers" for word in arguments):
        from .peers import main as peers

        return peers.run(arguments)
    options = parse(arguments)
    results = []
    for case in gf.lab.suite_cases(options.suite):
        if options.op and case["op"] not in options.op:
            continue
        result = gf.lab.bench(
            case["op"],
            shape=case["shape"],
            dtype=case["dtype"],
            variant=case["variant"],
            options=case["options"],
            device=options.device,
            seconds=options.seconds,
        )
        results.append(result)
        if not options.json:
            print(line(result, case), flush=True)
    if not results:
        print(f"bench: the suite {options.suite} has no case of {options.op}", file=sys.stderr)
        return 2
    document = json.dumps({"gpuforge": gf.__version__, "suite": options.suite, "cases": results}, indent=2)
    if options.json:
        print(document)
    if options.save:
        with open(options.save, "w", encoding="utf-8") as file:
            file.write(document + "\n")
    return 0 if all(result["good"] for result in results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except gf.UnavailableError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(3)
    except ValueError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
