"""Layouts, pools, the scheduler, profiling; threads, garbage and destruction together."""

import asyncio
import gc
import json
import subprocess
import sys
import threading

import numpy as np
import pytest

import gpuforge as gf

SPIN = """
extern "C" __global__ void bump(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
"""


def test_layouts():
    layout = gf.layout.Layout((4, 8), (8, 1))
    assert (
        str(layout) == "(4,8):(8,1)" and layout == "(4,8):(8,1)" and layout.shape == (4, 8) and layout.stride == (8, 1)
    )
    assert layout(1, 2) == 10 and layout((3, 7)) == 31
    assert gf.layout.size(layout) == 32 and gf.layout.cosize("4:3") == 10
    assert gf.layout.composition("(8,4):(1,8)", "4:2") == "4:2"
    assert str(gf.layout.zipped_divide("(6,8):(8,1)", (2, 4))) == "((2,4),(3,2)):((8,1),(16,4))"
    assert str(gf.layout.evaluate("zipped_divide((M,N):(N,1), (1,32))")).startswith("((1,32)")
    assert gf.layout.evaluate("size(A)", A=layout) == 32
    assert str(gf.layout.Layout((2, 3))) == "(2,3):(1,2)"
    assert "composition" in gf.layout.functions() and len(gf.layout.functions()) > 40
    with pytest.raises(ValueError, match="expected|column|found"):
        gf.layout.evaluate("composition(4:1")
    with pytest.raises(ValueError):
        gf.layout.composition("4:1", "3:5", "1:1", 4)


def test_pools():
    pool = gf.memory.MemoryPool(64 << 20, device="cpu")
    x = pool.empty((1 << 20,), tag="weights")
    x[:] = 1
    stats = pool.stats()
    assert stats["used"] >= 4 << 20 and stats["tags"] == {"weights": 4 << 20} and pool.quota == 64 << 20
    with pytest.raises(MemoryError, match="cpu"):
        pool.empty(1 << 28)
    assert pool.can_reserve(1 << 20) and not pool.can_reserve(1 << 30)
    del x
    gc.collect()
    gf.synchronize("cpu")
    assert pool.stats()["active_blocks"] == 0 and pool.trim() > 0
    assert gf.memory.default_pool("cpu").stats()["device"] == "cpu"
    with pytest.raises(NotImplementedError, match="simulator"):
        gf.memory.default_pool("sim")


def test_evictable_arrays_come_back():
    pool = gf.memory.MemoryPool(64 << 20, device="cpu")
    x = pool.empty(1 << 20, evictable=True, tag="cache")
    x[:] = 3
    gf.synchronize("cpu")
    assert pool.evict(x) and not pool.resident(x)
    assert x[5].item() == 3 and pool.resident(x)
    there = np.asarray(x)  # its address is known outside: it stays
    assert not pool.evict(x) and there[0] == 3


def test_the_scheduler_runs_functions(device):
    x = gf.zeros(4, "int32")
    gf.synchronize(device)
    count = 0

    def piece():
        nonlocal count
        count += 1
        x[:] = count
        return count < 3

    with gf.scheduler.Scheduler(device, memory=1 << 30) as scheduler:
        first = scheduler.submit(piece, "first", qos="guaranteed", memory=1 << 20)
        second = scheduler.submit(lambda: None, "second", after=["first"])
        second.wait()
        assert first.state == second.state == "completed"
        assert first.status()["pieces"] == 3 and count == 3
        report = scheduler.report()
        assert any("first" in json.dumps(decision) for decision in report["decisions"])
    gf.synchronize(device)
    assert x.tolist() == [3] * 4
    with pytest.raises(ValueError, match="closed"):
        scheduler.wait_all()


def test_tasks_fail_as_their_functions_do():
    with gf.scheduler.Scheduler("cpu") as scheduler:

        def broken():
            raise KeyError("on purpose")

        task = scheduler.submit(broken)
        with pytest.raises(KeyError, match="on purpose"):
            task.wait()
        assert task.state == "failed" and "on purpose" in task.status()["message"]
        with pytest.raises(ValueError, match="guaranteed, burstable or best_effort"):
            scheduler.submit(broken, qos="gold")
        never = scheduler.submit(lambda: True, memory=1 << 60, qos="guaranteed")
        with pytest.raises(gf.UnavailableError, match="rejected"):
            never.wait()


def test_tasks_are_awaitable():
    async def run():
        with gf.scheduler.Scheduler("cpu") as scheduler:
            done = []
            await asyncio.gather(*[scheduler.submit(lambda i=i: done.append(i)) for i in range(8)])
            return sorted(done)

    assert asyncio.run(run()) == list(range(8))


def test_functions_that_take_long_to_go_block_nobody():
    """A task's function goes on the scheduler's thread: who asks about the task meanwhile is answered."""
    program = """
import threading, time
import gpuforge as gf

going = threading.Event()

class Work:
    def __call__(self):
        pass
    def __del__(self):
        going.set()
        time.sleep(0.2)

with gf.scheduler.Scheduler("cpu") as scheduler:
    task = scheduler.submit(Work())
    going.wait()
    assert task.state == "completed" and task.status()["pieces"] == 1 and task.name
    task.wait()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_scheduler_may_go_with_work_under_way():
    scheduler = gf.scheduler.Scheduler("cpu")
    x = gf.zeros(16, device="cpu")

    def forever():
        x[:] = 1
        return True

    task = scheduler.submit(forever)
    del scheduler
    gc.collect()
    assert task.state in ("ready", "running", "queued", "blocked", "idle")
    assert task.cancel() in (True, False)
    del task
    gc.collect()


def test_profiling(device):
    kernel = gf.jit(SPIN)
    x = gf.zeros(64, "int32")
    with gf.profiling.Profiler(device) as profiler:
        with profiler.record("copying", bytes_transferred=512):
            x.copy()
        if device != "cpu":
            kernel(x, 64)
    report = profiler.report()
    names = [span["name"] for span in report["spans"]]
    assert "copying" in names and (device == "cpu" or any("bump" in name for name in names))
    assert "copying" in profiler.summary()
    profiler.clear()
    assert not profiler.report()["spans"]


def test_traces(tmp_path):
    profiler = gf.profiling.Profiler("cpu")
    with profiler.record("step"):
        gf.ones(8, device="cpu")
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    assert "traceEvents" in json.loads(path.read_text())


def test_device_facts(device):
    info = gf.get_device_info()
    assert info["device"] == device and info["total_memory"] > 0 and info["warp_size"] == 32
    free, total = gf.memory_info()
    assert 0 < free <= total
    assert {"cpu", "sim"} <= {each["device"] for each in gf.devices()}
    assert gf.is_nvrtc_available() in (True, False)


def test_threads_garbage_and_destruction_do_not_deadlock():
    """Threads that compute, wait, share NumPy's memory, schedule and drop everything, while the collector runs."""
    errors = []
    stop = threading.Event()

    def work(seed):
        try:
            device = ["cpu", "sim"][seed % 2]
            with gf.default_device(device), gf.Stream(device):
                for i in range(15):
                    there = np.full(256, i, "float32")
                    x = gf.from_dlpack(there) if device == "cpu" else gf.from_numpy(there)
                    del there
                    y = x[::2] + 1
                    assert y.sum().item() == 128 * (i + 1)
                    cycle = [x, y]
                    cycle.append(cycle)
                    if i % 5 == 0:
                        with gf.scheduler.Scheduler(device) as scheduler:
                            scheduler.submit(lambda y=y: y.fill(0) or False).wait()
        except BaseException as error:
            errors.append(error)

    def collect():
        while not stop.wait(0.001):
            gc.collect()

    collector = threading.Thread(target=collect)
    collector.start()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    stuck = [thread for thread in threads if thread.is_alive()]
    stop.set()
    collector.join(timeout=10)
    assert not stuck and not errors
