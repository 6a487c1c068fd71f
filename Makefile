# Two commands: make demo, make test. What they need is brought by ./bootstrap; how things are built stands in
# CMakePresets.json and CMakeLists.txt.
RELEASE := build/release
JOBS := $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo build test check format clean

help:
	@echo 'make demo    set up, build, look at this machine, run two kernels, measure the smoke suite'
	@echo 'make test    set up, build and run the whole test suite'
	@echo 'make build   set up and build everything into $(RELEASE)/'
	@echo 'make check   house checks: format, layers, file sizes, headers compile alone'
	@echo 'make format  rewrite the sources as clang-format 14 wants them'
	@echo 'make clean   remove build/ (the NVRTC in .deps/ stays)'

setup:
	@./bootstrap

# Once; afterwards ninja runs CMake again by itself when a build file changes.
$(RELEASE)/build.ninja: | setup
	@echo 'configuring $(RELEASE)'
	@cmake --preset release

# The Python package is configured on top: its tools come from PyPI, which a demo does not wait for.
$(RELEASE)/python/cmake_install.cmake: | setup
	@echo 'configuring $(RELEASE) with the Python package'
	@cmake --preset release -DGPUFORGE_PYTHON=ON

demo: setup $(RELEASE)/build.ninja
	@cmake --build --preset release --target demo_programs
	@$(RELEASE)/bin/gpuforge doctor
	@$(RELEASE)/bin/first_kernels
	@$(RELEASE)/bin/gpuforge bench --suite smoke

build: setup $(RELEASE)/python/cmake_install.cmake
	@cmake --build --preset release

test: build
	@ctest --preset release -j $(JOBS)

check:
	@./bootstrap checks
	@echo 'layers and names'; tools/check_layers
	@echo 'file sizes'; tools/check_sizes
	@echo 'format'; tools/check_format
	@echo 'every header compiles alone'; tools/check_headers
	@echo 'python'; tools/check_python

format:
	@./bootstrap checks
	@tools/check_format --fix

clean:
	rm -rf build
