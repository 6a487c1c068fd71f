#!/usr/bin/env python3
"""Records what torch's caching allocator is asked by a small decoder: prompts of several lengths, then decode
steps of a growing batch; writes it as a trace that memory_bench --trace=FILE replays, and replays it on torch's own
allocator, with the time a step takes and the peak it reserves over the peak that is asked for.

    tools/record_torch_trace.py OUT.trace [--steps 12] [--layers 4] [--hidden 2048]

Needs torch with a GPU: exit code 3 without.
"""
import argparse
import sys
import time

try:
    import torch
except ImportError:
    torch = None

MOST_BYTES = 300_000  # of the file: it goes into the repository


class Layer:
    """A decoder layer as plain matrix products: what it allocates is what matters."""

    def __init__(self, hidden, heads, device):
        def weight(rows, columns):
            return torch.randn(rows, columns, device=device, dtype=torch.bfloat16) * hidden ** -0.5
        self.heads = heads
        self.qkv, self.out = weight(hidden, 3 * hidden), weight(hidden, hidden)
        self.up, self.gate, self.down = weight(hidden, 3 * hidden), weight(hidden, 3 * hidden), weight(3 * hidden, hidden)

    def __call__(self, x, cache):
        batch, tokens, hidden = x.shape
        normed = torch.nn.functional.rms_norm(x, (hidden,))
        q, k, v = (normed @ self.qkv).chunk(3, dim=-1)
        def split(t):
            return t.view(batch, tokens, self.heads, hidden // self.heads).transpose(1, 2)
        q, k, v = split(q), split(k), split(v)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + attended.transpose(1, 2).reshape(batch, tokens, hidden) @ self.out
        normed = torch.nn.functional.rms_norm(x, (hidden,))
        return x + (torch.nn.functional.silu(normed @ self.gate) * (normed @ self.up)) @ self.down, (k, v)


def work(options):
    """Weights, then for each prompt its prefill and some decode steps; prompts end at different times."""
    device = torch.device("cuda:0")
    layers = [Layer(options.hidden, options.hidden // 128, device) for _ in range(options.layers)]
    embedding = torch.randn(32000, options.hidden, device=device, dtype=torch.bfloat16)

    def step(x, caches):
        caches = caches or [None] * len(layers)
        for i, layer in enumerate(layers):
            x, caches[i] = layer(x, caches[i])
        token = (x[:, -1:] @ embedding.T).argmax(dim=-1)
        return torch.nn.functional.embedding(token, embedding), caches

    for prompt, batch in ((37, 1), (512, 1), (129, 4), (900, 2), (64, 8)):
        tokens = torch.randint(0, 32000, (batch, prompt), device=device)
        x, caches = step(torch.nn.functional.embedding(tokens, embedding), None)
        for _ in range(options.steps):
            x, caches = step(x, caches)
    torch.cuda.synchronize()


def recorded_steps(events):
    """("a", id, bytes, stream) and ("f", id, stream) of what the allocator was asked, in order."""
    steps, live, streams, number = [], {}, {}, 0
    for event in events:
        stream = streams.setdefault(event.get("stream", 0), len(streams))
        if event["action"] == "alloc":
            live[event["addr"]] = number
            steps.append(("a", number, event["size"], stream))
            number += 1
        elif event["action"] == "free_requested" and event["addr"] in live:
            steps.append(("f", live.pop(event["addr"]), stream))
    return steps


def peak_bytes(steps):
    live, now, most = {}, 0, 0
    for step in steps:
        if step[0] == "a":
            live[step[1]] = step[2]
            now += step[2]
            most = max(most, now)
        else:
            now -= live.pop(step[1])
    return most


def replay(steps):
    """Seconds on torch's allocator, through its plain calls; what is still live is freed afterwards."""
    allocate, free = torch.cuda.caching_allocator_alloc, torch.cuda.caching_allocator_delete
    stream = torch.cuda.current_stream()
    live = {}
    begin = time.perf_counter()
    for step in steps:
        if step[0] == "a":
            live[step[1]] = allocate(step[2], 0, stream)
        else:
            free(live.pop(step[1]))
    seconds = time.perf_counter() - begin
    for address in live.values():
        free(address)
    return seconds


def empty_loop(steps):
    """What the loop of replay costs by itself."""
    live = {}
    begin = time.perf_counter()
    for step in steps:
        if step[0] == "a":
            live[step[1]] = step[2]
        else:
            live.pop(step[1])
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=12, help="decode steps of each prompt")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=2048)
    options = parser.parse_args()
    if torch is None or not torch.cuda.is_available():
        print("record_torch_trace: torch with a GPU is needed, and is not here", file=sys.stderr)
        return 3

    torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python", context=None)
    with torch.no_grad():
        work(options)
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)

    steps = recorded_steps(events)
    lines = [f"# torch {torch.__version__} on {torch.cuda.get_device_name(0)}: {options.layers} layers of "
             f"{options.hidden}, 5 prompts, {options.steps} decode steps each; tools/record_torch_trace.py"]
    lines += [" ".join(str(part) for part in (step[:-1] if step[-1] == 0 else step)) for step in steps]
    text = "\n".join(lines) + "\n"
    if len(text) > MOST_BYTES:
        print(f"record_torch_trace: {len(text)} bytes, over {MOST_BYTES}: fewer --steps or --layers", file=sys.stderr)
        return 1
    with open(options.out, "w", encoding="ascii") as file:
        file.write(text)

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    loop = empty_loop(steps)
    first, again = replay(steps), replay(steps)
    reserved = torch.cuda.max_memory_reserved() - before
    peak = peak_bytes(steps)
    print(f"{options.out}: {len(steps)} steps, {len(text)} bytes, at most {peak / 2**20:.1f} MiB asked for")
    print(f"torch's allocator replaying it: {1e9 * (first - loop) / len(steps):.0f} ns a step the first time, "
          f"{1e9 * (again - loop) / len(steps):.0f} ns again (python's loop, {1e9 * loop / len(steps):.0f} ns, taken off)")
    print(f"peak reserved over peak requested: {reserved / peak:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
