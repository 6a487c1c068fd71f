#include "cli/bench_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/parse.h"
#include "cli/verbs.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/lab/suite.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

BenchRequest request_of(std::vector<std::string> arguments, const ops::Backends& backends = ops::Backends()) {
  arguments.insert(arguments.begin(), "bench");
  const auto find = [](const std::string& name) {
    lab::Op op = ops::find_op(name.ends_with(".cu") ? "rms_norm" : name);
    if (name.ends_with(".cu")) {  // as a kernel file's
      op.name = name.substr(0, name.size() - 3);
      op.file = name;
      op.dtypes = {DType::bf16, DType::f32};
      op.check_problems = {lab::Problem{.shape = {3, 5}}, lab::Problem{.shape = {64, 100}}};
    }
    return op;
  };
  return read_bench_request(parse_command_line(arguments, all_commands()), find, backends);
}

std::vector<std::string> cases_of(std::vector<std::string> arguments) {
  std::vector<std::string> texts;
  for (const lab::BenchCase& which : request_of(std::move(arguments)).cases)
    texts.push_back(to_string(which));
  return texts;
}

std::string complaint(std::vector<std::string> arguments) {
  try {
    request_of(std::move(arguments));
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::io);
    return std::string(error.message());
  }
  return "nothing was thrown";
}

using Texts = std::vector<std::string>;

TEST(BenchRequest, AKernelFileHasItsOwnShapesAndAProcessOfItsOwn) {
  const BenchRequest request = request_of({"mine.cu"});
  ASSERT_EQ(request.cases.size(), 1u);
  EXPECT_EQ(request.cases[0].op, "mine");
  EXPECT_EQ(request.cases[0].problem.shape, (Shape{64, 100}));
  EXPECT_EQ(request.cases[0].problem.dtype, DType::bf16);
  EXPECT_TRUE(request.isolate);
  EXPECT_FALSE(request_of({"mine.cu", "--no-isolate"}).isolate);
  EXPECT_FALSE(request_of({"rms_norm"}).isolate);
  EXPECT_EQ(request_of({"--op", "mine.cu", "--sizes", "7x9", "--dtypes", "f32"}).cases[0].problem.shape,
            (Shape{7, 9}));
  EXPECT_EQ(complaint({"mine.cu", "--isolate", "--no-isolate"}),
            "bench: --isolate and --no-isolate exclude each other");
}

TEST(BenchRequest, EveryOpOfTheSuitesExists) {
  for (const lab::Suite& suite : lab::built_in_suites()) {
    EXPECT_FALSE(cases_of({"--suite", suite.name}).empty()) << suite.name;
  }
}

TEST(BenchRequest, FlagsReplaceWhatTheSuiteSays) {
  EXPECT_EQ(cases_of({"--suite", "smoke", "--op", "copy_transpose"}),
            (Texts{"copy_transpose best f16 1024x1024 tile_size=auto"}));
  EXPECT_EQ(cases_of({"--suite", "copy_transpose_short", "--sizes", "64,5x0", "--dtypes", "f32"}).size(), 4u)
      << "two shapes, two tiles; what is the same stands once";
  EXPECT_EQ(
      cases_of({"--op", "copy_transpose", "--sizes", "2^6", "--variant", "all", "--tile-size", "16"}),
      (Texts{"copy_transpose best f16 64x64 tile_size=16", "copy_transpose tiled f16 64x64 tile_size=16",
             "copy_transpose naive f16 64x64 tile_size=16"}));
  EXPECT_EQ(cases_of({"--op", "copy_transpose", "--backend", "ref"})[0],
            "copy_transpose best f16 1024x1024 tile_size=auto (ref)");
}

TEST(BenchRequest, ABackendIsOneOfThoseThereAre) {
  EXPECT_EQ(complaint({"--op", "copy_transpose", "--backend", "fast"}),
            "Unknown copy_transpose backend 'fast'; there are kernel, ref");
  EXPECT_EQ(complaint({"mine.cu", "--backend", "fast"}),
            "Unknown mine backend 'fast'; there are kernel, ref");
  EXPECT_EQ(cases_of({"mine_backward.cu", "--backend", "ref"}),
            (Texts{"mine_backward best bf16 64x100 residual=false weight=true (ref)"}));

  ops::Backends backends;
  int asked = 0;
  backends.add("softmax_online", "mine", [&](const lab::Call&) { ++asked; });
  const BenchRequest request = request_of({"--op", "softmax_online", "--backend", "mine"}, backends);
  EXPECT_EQ(to_string(request.cases[0]), "softmax_online best f16 1024x1024 dim=-1 (mine)");
  const lab::Op& op = request.ops.at("softmax_online");
  const auto context = Context::make(device::make_cpu_device());
  const auto stream = context->make_stream();
  std::vector<Array> operands(2, empty(context, {2, 3}, DType::f16, *stream));
  const lab::Problem problem = lab::complete(op, {.shape = {2, 3}, .dtype = DType::f16});
  op.run({.problem = problem, .variant = "best", .operands = operands, .stream = *stream});
  EXPECT_EQ(asked, 1);
}

TEST(BenchRequest, MeasuringFollowsTheFlags) {
  const Texts op = {"--op", "copy_transpose"};
  const auto with = [&](Texts more) {
    more.insert(more.begin(), op.begin(), op.end());
    return request_of(more);
  };
  EXPECT_EQ(with({"--warmup", "10", "--iterations", "50"}).measure.iterations, 50u);
  EXPECT_EQ(with({"--method", "events"}).measure.method, lab::Method::events);
  EXPECT_LT(with({"--quick"}).measure.seconds, with({}).measure.seconds);
  EXPECT_EQ(with({"--compare", "b.json", "--fail-on-regression"}).least_change, 0.02);
  EXPECT_EQ(with({"--compare", "b.json", "--fail-on-regression=5"}).least_change, 0.05);
  EXPECT_FALSE(with({"--compare", "b.json"}).fail_on_regression);
  EXPECT_EQ(with({"--out", "a.json"}).save, "a.json");
}

TEST(BenchRequest, MistakesAreSentences) {
  EXPECT_THAT(complaint({"--op", "copy"}), HasSubstr("there is no op 'copy'"));
  EXPECT_THAT(complaint({"--suite", "smoke", "--op", "softmax"}), HasSubstr("there is no op 'softmax'"));
  EXPECT_THAT(complaint({"--suite", "nope"}), HasSubstr("there is no suite 'nope'"));
  EXPECT_THAT(complaint({"--suites", "/nowhere.yaml"}), HasSubstr("/nowhere.yaml"));
  const Texts op = {"--op", "copy_transpose"};
  const auto with = [&](Texts more) {
    more.insert(more.begin(), op.begin(), op.end());
    return complaint(more);
  };
  EXPECT_THAT(with({"--sizes", "5y"}), HasSubstr("5y"));
  EXPECT_THAT(with({"--sizes", ""}), HasSubstr("--sizes is a list"));
  EXPECT_THAT(complaint({"--op", "reduce", "--dim", "7"}), HasSubstr("dim must be in"));
  EXPECT_THAT(with({"--dtypes", "f16,f12"}), HasSubstr("--dtypes is a list"));
  EXPECT_THAT(with({"--dtypes", "i8"}), HasSubstr("it has f16, bf16, f32"));
  EXPECT_THAT(with({"--dim", "0"}), HasSubstr("has the option 'dim'"));
  EXPECT_THAT(with({"--option", "tile"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(with({"--tile-size", "8"}), HasSubstr("found '8'"));
  EXPECT_THAT(with({"--variant", "fast"}), HasSubstr("there is no variant 'fast'"));
  EXPECT_THAT(with({"--warmup", "-1"}), HasSubstr("--warmup"));
  EXPECT_THAT(with({"--iterations", "0"}), HasSubstr("--iterations"));
  EXPECT_THAT(with({"--fail-on-regression"}), HasSubstr("needs --compare"));
  EXPECT_THAT(with({"--compare", "a", "--fail-on-regression=x"}), HasSubstr("percentage"));
  EXPECT_THAT(with({"--markdown", "--csv"}), HasSubstr("exclude each other"));
  EXPECT_THAT(with({"--out", "a", "--save", "b"}), HasSubstr("give one"));
  EXPECT_THAT(with({"--method", "clock"}), HasSubstr("graph"));
}

}  // namespace
}  // namespace gpuforge::cli
