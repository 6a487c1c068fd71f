#include "gpuforge/lab/kernel_file.h"

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/lab/check.h"

namespace gpuforge::lab {
namespace {

using testing::HasSubstr;

// y = a x + y in both forms a kernel can have, and what it should be.
constexpr std::string_view kSaxpy = R"(// Any text may come first.

/* gpuforge:
operands:
  x: in T [N]
  y: inout T [N]
kernel: saxpy<{T}>
parameters: [y, x, a: f32 = 0.5, N]
grid: ceil_div(N, BLOCK * PER_THREAD)
block: BLOCK
tunables: {BLOCK: [64, 128], PER_THREAD: [1, 3]}
requires: [BLOCK * PER_THREAD < 300]
dtypes: [f32, f16, bf16]
reference: {kernel: slow, grid: 1, block: 1}
*/
template <typename Element>
__global__ void saxpy(Element* y, const Element* x, float a, int n) {
  for (int k = 0; k < PER_THREAD; ++k) {
    const int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
    if (i < n) y[i] = Element(a * float(x[i]) + float(y[i]));
  }
}

__global__ void slow(double* y, const double* x, float a, long long n) {
  for (long long i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}
)";

class KernelFile : public ArrayTest {
 protected:
  Op read(std::string_view text, const std::string& name = "saxpy.cu") {
    return read_at(folder_.write(name, text));
  }

  Op read_at(const std::filesystem::path& path) {
    return read_kernel_file(path, {.find_op = [](std::string_view) -> Op {
                                     throw Error(ErrorCode::invalid_argument, "there are no ops");
                                   },
                                   .reference_context = [this] { return context_; },
                                   .program_path = read_environment().path});
  }

  std::vector<std::string> complaints(const Op& op, Problem problem, std::optional<Config> config = {}) {
    const CheckReport report = check(
        op, {.problem = complete(op, std::move(problem)), .variant = "kernel", .config = std::move(config)},
        context_);
    std::vector<std::string> list = report.faults;
    for (const OutputReport& output : report.outputs) {
      const Comparison& c = output.comparison;
      if (!c.good())
        list.push_back(format_text("{}: {} wrong, got {}, want {}", output.name, c.wrong, c.got, c.want));
    }
    return list;
  }

  // What keeps it from running, as an Error or in the report; "no error" when it is right.
  std::string refusal(const Op& op, const Problem& problem) {
    std::string text;
    const std::string thrown = error_of([&] {
      for (const std::string& complaint : complaints(op, problem)) text += complaint + "\n";
    });
    return text.empty() ? thrown : text;
  }

  static std::string with(std::string_view old, std::string_view other, std::string_view text = kSaxpy) {
    std::string all(text);
    EXPECT_NE(all.find(old), std::string::npos) << old;
    return all.replace(all.find(old), old.size(), other);
  }

  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Sim, KernelFile, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, KernelFile, testing::Values("cuda:0"));

TEST_P(KernelFile, IsAnOpThatComputesWhatItsReferenceDoes) {
  const Op op = read(kSaxpy);
  EXPECT_EQ(op.name, "saxpy");
  EXPECT_GE(op.check_problems.size(), 5u);
  for (const DType dtype : op.dtypes) {
    for (const std::int64_t n : {1, 255, 1000})
      EXPECT_THAT(complaints(op, {.shape = {n}, .dtype = dtype}), testing::IsEmpty());
  }
  EXPECT_THAT(complaints(op, {.shape = {0}}), testing::IsEmpty());
}

TEST_P(KernelFile, EveryConfiguration) {
  const Op op = read(kSaxpy);
  const Problem problem{.shape = {1000}};
  const std::vector<Config> configs = op.configs(problem, "kernel", context_->device().facts());
  EXPECT_EQ(configs.size(), 3u);  // 128 * 3 is ruled out
  for (const Config& config : configs) EXPECT_THAT(complaints(op, problem, config), testing::IsEmpty());
  EXPECT_THAT(error_of([&] { op.kernels(*context_, problem, "kernel", &configs.front()); }), "no error");
  const Config ruled_out = {{"BLOCK", 128}, {"PER_THREAD", 3}};
  EXPECT_THAT(
      error_of([&] { op.kernels(*context_, problem, "kernel", &ruled_out); }),
      testing::EndsWith(
          "saxpy.cu:12: the kernel requires BLOCK * PER_THREAD < 300; here BLOCK = 128, PER_THREAD = 3"));
  const Config unknown = {{"WARPS", 3}};
  EXPECT_THAT(error_of([&] { op.kernels(*context_, problem, "kernel", &unknown); }),
              HasSubstr("no tunable 'WARPS'"));
  const Config other = {{"BLOCK", 100}};
  EXPECT_THAT(error_of([&] { op.kernels(*context_, problem, "kernel", &other); }), HasSubstr("BLOCK=100"));
}

TEST_P(KernelFile, ChoosesWhatWasTuned) {
  const Op op = read(kSaxpy);
  const Problem problem{.shape = {1000}};
  const device::DeviceFacts& facts = context_->device().facts();
  EXPECT_EQ(op.choose(problem, "kernel", facts, {}).config, (Config{{"BLOCK", 64}, {"PER_THREAD", 1}}));
  TuningTable table;
  table.set(op.tuning_key(problem, "kernel"), {{"BLOCK", 128}, {"PER_THREAD", 1}});
  EXPECT_EQ(op.choose(problem, "kernel", facts, table).config, (Config{{"BLOCK", 128}, {"PER_THREAD", 1}}));
  // What the file no longer has is not taken.
  table.set(op.tuning_key(problem, "kernel"), {{"BLOCK", 512}});
  EXPECT_EQ(op.choose(problem, "kernel", facts, table).config.at("BLOCK"), 64);
}

TEST_P(KernelFile, AWrongKernelIsFound) {
  EXPECT_THAT(complaints(read(with("float(y[i]))", "2 * float(y[i]))")), {.shape = {100}}),
              testing::SizeIs(1));
}

TEST_P(KernelFile, ACompileErrorHasTheLineOfTheFile) {
  const Op op = read(with("const int i =", "const int i = nonsense +"));
  EXPECT_THAT(error_of([&] { op.kernels(*context_, {.shape = {8}}, "kernel", nullptr); }),
              HasSubstr("saxpy.cu:19: error"));
}

TEST_P(KernelFile, WhatTheKernelDeclaresIsComparedWithTheHead) {
  const auto refusal = [&](const std::string& text, DType dtype = DType::f32) {
    return KernelFile::refusal(read(text), {.shape = {8}, .dtype = dtype});
  };
  const std::string plain =
      with("saxpy<{T}>", "saxpy",
           with("template <typename Element>\n__global__ void saxpy(Element* y, const Element* x",
                "typedef float Element;\n__global__ void saxpy(float* y, const float* x"));
  EXPECT_EQ(refusal(plain), "no error");
  EXPECT_THAT(refusal(plain, DType::f16), HasSubstr("declares y as float*, and the operand holds f16"));
  EXPECT_THAT(refusal(with("a: f32 = 0.5, N]", "a: f32 = 0.5]")), HasSubstr("saxpy"));
  EXPECT_THAT(
      refusal(with("a: f32 = 0.5, N]", "a: f32 = 0.5, N + 3000000000]", with("grid: 1,", "grid: 0,"))),
      HasSubstr("does not fit i32"));
  EXPECT_THAT(refusal(with("[y, x,", "[y, 7,")), HasSubstr("'7' is a number"));
  EXPECT_EQ(refusal(with("a: f32 = 0.5", "1 / 2")), "no error");  // as the kernel declares it: a float
  EXPECT_THAT(refusal(with("block: BLOCK", "block: 0")), HasSubstr("block"));
  EXPECT_THAT(refusal(with("grid: ceil_div(N, BLOCK * PER_THREAD)", "grid: N - 9")),
              HasSubstr("the grid 'N - 9' is -1"));
}

TEST_P(KernelFile, ShapesThatAreNotPossible) {
  const Op op = read(with("requires: [", "requires: [N % 4 == 0, "));
  EXPECT_THAT(error_of([&] { op.operands({.shape = {6}}); }),
              testing::EndsWith("saxpy.cu:12: the kernel requires N % 4 == 0; here N = 6"));
  EXPECT_THAT(error_of([&] {
                op.operands({.shape = {6, 8}});
              }),
              HasSubstr("a shape of 1 extent (N) was expected; found 6x8"));
  EXPECT_THAT(error_of([&] { read(with("requires: [", "requires: [N == 77, ")); }),
              HasSubstr("list some in `check_shapes`"));
  EXPECT_THAT(error_of([&] { read(with("requires: [", "check_shapes: [7]\nrequires: [N == 77, ")); }),
              HasSubstr("(check_shapes has 7)"));
}

TEST_P(KernelFile, CostIsEveryOperandOnceUnlessTheHeadSaysOtherwise) {
  const Cost cost = read(kSaxpy).cost({.shape = {100}, .dtype = DType::f16});
  EXPECT_EQ(cost.bytes_read, 400);
  EXPECT_EQ(cost.bytes_written, 200);
  EXPECT_EQ(read(with("block: BLOCK", "block: BLOCK\ncost: {flops: 2 * N}")).cost({.shape = {100}}).flops,
            200);
}

TEST_P(KernelFile, APythonReference) {
  folder_.write("ref.py",
                "def saxpy(x, y, N):\n  assert N == len(x)\n  return [0.5 * a + b for a, b in zip(x, y)]\n"
                "def wrong(x, y):\n  return [1.0] * (len(x) + 1)\n"
                "def loops(x, y):\n  while True: pass\n"
                "def raises(x, y):\n  return x / 'a'\n");
  const auto with_reference = [&](const std::string& reference) {
    return read(with("{kernel: slow, grid: 1, block: 1}", reference));
  };
  EXPECT_THAT(complaints(with_reference("{python: ref.py:saxpy, arrays: lists}"), {.shape = {100}}),
              testing::IsEmpty());
  const auto refusal = [&](const std::string& reference) {
    return KernelFile::refusal(with_reference(reference), {.shape = {8}});
  };
  EXPECT_THAT(refusal("{python: ref.py:wrong, arrays: lists}"),
              HasSubstr("the result for y should have extent 8 where it has 9"));
  EXPECT_THAT(refusal("{python: ref.py:loops, arrays: lists, seconds: 1}"),
              HasSubstr("gave no answer in 1 s"));
  EXPECT_THAT(refusal("{python: ref.py:raises, arrays: lists}"), HasSubstr("TypeError"));
  EXPECT_THAT(refusal("{python: ref.py:nothing, arrays: lists}"), HasSubstr("has no function 'nothing'"));
  EXPECT_THAT(refusal("{python: none.py:f, arrays: lists}"), HasSubstr("there is no file"));
}

TEST_P(KernelFile, APtxFileWithItsHeadBesideIt) {
  const Op from_source = read(kSaxpy);
  const Problem problem{.shape = {100}};
  const auto kernel = from_source.kernels(*context_, problem, "kernel", nullptr).front();
  folder_.write("k.ptx", kernel->compiled().ptx);
  folder_.write("ref.py", "def saxpy(x, y):\n  return [0.5 * a + b for a, b in zip(x, y)]\n");
  const std::string head =
      "gpuforge:\n  operands:\n    x: in f32 [N]\n    y: inout f32 [N]\n  kernel: " + kernel->entry().name +
      "\n  parameters: [y, x, a: f32 = 0.5, N]\n  grid: ceil_div(N, 64)\n  block: 64\n"
      "  reference: {python: ref.py:saxpy, arrays: lists}\n";
  folder_.write("k.yaml", head);
  for (const char* const name : {"k.ptx", "k.yaml"})
    EXPECT_THAT(complaints(read_at(folder_ / name), problem), testing::IsEmpty());
  folder_.write("k.yaml", head + "  dtypes: [f32, f16]\n");
  EXPECT_THAT(error_of([&] { read_at(folder_ / "k.ptx"); }),
              HasSubstr("the one dtype that k.ptx was compiled for"));
  EXPECT_THAT(error_of([&] { read_at(folder_ / "other.ptx"); }), HasSubstr("expected other.yaml beside it"));
  EXPECT_THAT(error_of([&] { read_at(folder_ / "saxpy.txt"); }), HasSubstr("a kernel file is FILE.cu"));
}

}  // namespace
}  // namespace gpuforge::lab
