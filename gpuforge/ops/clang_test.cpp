// Every op's kernels through clang, which stands in where there is no NVRTC: compiled, run on the simulator,
// and right.
#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

class OpsWithClang : public OpTest {
 protected:
  void SetUp() override {
    const Environment environment = read_environment();
    ContextOptions options;
    options.jit = jit_options(environment);
    options.jit.cache_dir.reset();
    options.jit.compiler = jit::CompilerChoice::clang;
    context_ =
        Context::make(device::open_device("sim", cuda::search_options(environment)), std::move(options));
    try {
      context_->jit().kernel({.name = "empty.cu", .text = "__global__ void nothing() {}"}, "nothing",
                             context_->device());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no clang here: " << error.what();
    }
  }
};

TEST_P(OpsWithClang, AreRight) {
  const lab::Op op = find_op(GetParam());
  int tried = 0;
  for (lab::Problem problem : op.check_problems) {
    const std::int64_t elements = element_count(problem.shape);
    if (elements < 100 || elements > 4096) continue;
    problem.dtype = op.dtypes[static_cast<std::size_t>(tried) % op.dtypes.size()];
    const lab::Problem complete = lab::complete(op, problem);
    for (const lab::Variant& variant : op.variants) {
      expect_good(op, {.problem = complete, .variant = variant.name});
      if (!op.accepts_strides) continue;
      expect_good(op, {.problem = complete, .variant = variant.name, .placement = lab::Placement::shifted});
    }
    if (++tried == 3) break;
  }
  EXPECT_GT(tried, 0) << "no check problem of moderate size";
}

// Of every op in the registry; the names last as long as the program, as those of tests must.
std::vector<const char*> op_names() {
  static const auto& ops = *new std::vector<lab::Op>(all_ops());
  std::vector<const char*> names;
  for (const lab::Op& op : ops) names.push_back(op.name.c_str());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpsWithClang, testing::ValuesIn(op_names()),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace gpuforge::ops
