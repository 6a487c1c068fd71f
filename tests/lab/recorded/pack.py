#!/usr/bin/env python3
"""Makes what `gpuforge bench --save` wrote small enough to keep: pack.py FILE.json.. OUT_FOLDER

Samples are rounded to six digits and the text is not indented; nothing is left out. How the files here were recorded, on a
machine with nothing else to do:

  for i in $(seq -w 0 20); do gpuforge bench --suite smoke --device cuda:0 --iterations 64 --save same_$i.json; done
  mkdir -p faster slower
  cp steady.cu faster/steady.cu
  sed 's/ROUNDS: 1000/ROUNDS: 1050/' steady.cu > slower/steady.cu
  gpuforge bench faster/steady.cu --device cuda:0 --sizes 4194304 --iterations 64 --save slowdown_before.json
  gpuforge bench slower/steady.cu --device cuda:0 --sizes 4194304 --iterations 64 --save slowdown_after.json
  python3 pack.py same_*.json slowdown_*.json OUT_FOLDER
"""
import json
import pathlib
import sys

*files, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
for path in files:
    document = json.loads(path.read_text())
    for case in document["cases"]:
        time = case["time"]
        time["samples_ms"] = [[float(f"{sample:.6g}") for sample in samples] for samples in time["samples_ms"]]
    (folder / path.name).write_text(json.dumps(document, separators=(",", ":")) + "\n")
