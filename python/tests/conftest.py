"""Every test that asks for `device` runs on each of them; with a GPU also there."""

import doctest

import pytest

import gpuforge as gf

DEVICES = ["cpu", "sim"] + (["cuda:0"] if gf.is_cuda_available() else [])


@pytest.fixture(params=DEVICES)
def device(request):
    with gf.default_device(request.param):
        yield request.param


@pytest.fixture
def run_doctests():
    def run(owner, name):
        finder = doctest.DocTestFinder(exclude_empty=True)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        for test in finder.find(owner, name, globs={"gf": gf}, module=False):
            runner.run(test)
        return runner.failures, runner.tries

    return run
