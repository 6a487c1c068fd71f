"""Ours beside PyTorch, torch.compile, Triton and CuPy: the same buffers, one process, turn by turn.

`python -m gpuforge.bench --peers torch,triton` runs it (gpuforge.peers once installed). cases.py says what is
measured, contenders.py who computes it, triton_kernels.py holds the Triton kernels written for the comparison,
measure.py takes the times, a result.Result of each case, and table.py prints them."""
