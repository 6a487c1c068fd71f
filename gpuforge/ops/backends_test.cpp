#include "gpuforge/ops/backends.h"

#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/softmax_online/softmax_online.h"

namespace gpuforge::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BackendsOnDevice : public OpTest {
 protected:
  Array softmax(const Backends& backends, const Array& x) {
    const Array inputs[] = {x};
    return backends.run("softmax_online", {.shape = x.shape(), .dtype = x.dtype()}, inputs, *stream_)[0];
  }
  Array small() { return from<float>({1, 2, 3, 4, 5, 6}, {2, 3}); }
};
INSTANTIATE_TEST_SUITE_P(Cpu, BackendsOnDevice, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, BackendsOnDevice, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, BackendsOnDevice, testing::Values("cuda:0"));

void nothing(const lab::Call&) {}

TEST(Backends, EveryOpHasTwo) {
  const Backends backends;
  for (const lab::Op& op : all_ops()) {
    if (op.name.ends_with("_backward")) continue;
    EXPECT_THAT(backends.list(op.name), ElementsAre("kernel", "ref"));
    EXPECT_EQ(backends.get(op.name), "kernel");
  }
}

TEST(Backends, RegisterSetGetList) {
  Backends backends;
  backends.add("softmax_online", "mine", nothing);
  EXPECT_THAT(backends.list("softmax_online"), ElementsAre("kernel", "mine", "ref"));
  EXPECT_THAT(backends.list("copy_transpose"), ElementsAre("kernel", "ref"));
  backends.set("softmax_online", "mine");
  EXPECT_EQ(backends.get("softmax_online"), "mine");
  EXPECT_EQ(backends.get("copy_transpose"), "kernel");
  backends.add("softmax_online", "mine", nothing, nothing, Backends::Existing::overwrite);
  EXPECT_EQ(Backends().get("softmax_online"), "kernel");  // values do not know of each other
}

TEST(Backends, Refusals) {
  Backends backends;
  const auto refusal = [&](std::string_view name, Backends::Implementation forward) {
    return error_of([&] { backends.add("softmax_online", name, std::move(forward)); });
  };
  EXPECT_EQ(refusal("", nothing),
            "invalid_argument: softmax_online: a backend needs a name; found an empty one");
  EXPECT_EQ(refusal("mine", {}),
            "invalid_argument: softmax_online backend 'mine': a function was expected; found an empty one");
  backends.add("softmax_online", "mine", nothing);
  EXPECT_EQ(refusal("mine", nothing),
            "invalid_argument: softmax_online backend 'mine' is registered already; overwrite it, or take "
            "another name");
  EXPECT_EQ(refusal("kernel", nothing),
            "invalid_argument: softmax_online backend 'kernel' is built in; take another name");
  EXPECT_EQ(error_of([&] { backends.set("softmax_online", "theirs"); }),
            "invalid_argument: Unknown softmax_online backend 'theirs'; there are kernel, mine, ref");
  EXPECT_EQ(backends.get("softmax_online"), "kernel");
  EXPECT_EQ(
      error_of([&] { backends.add("copy_transpose", "mine", nothing, nothing); }),
      "invalid_argument: copy_transpose backend 'mine': a backward was given, and copy_transpose has none");
  EXPECT_EQ(
      error_of([&] { backends.set("softmax_online_backward", "ref"); }),
      "invalid_argument: backends: softmax_online_backward has the backend of softmax_online: name that one");
  EXPECT_THAT(error_of([&] { backends.get("softmin"); }),
              HasSubstr("backends: there is no op 'softmin'; there are copy_transpose"));
}

TEST_P(BackendsOnDevice, RefIsTheReferenceForEveryOp) {
  const Backends backends;
  for (const lab::Op& op : all_ops()) {
    const lab::Op by_reference = backends.op(op.name, "ref");
    EXPECT_TRUE(by_reference.configs({}, "ref", context_->device().facts()).empty());
    lab::Problem problem = op.check_problems.back();
    problem.dtype = DType::bf16;
    problem = lab::complete(op, problem);
    expect_good(by_reference, {.problem = problem, .variant = "ref"});
    expect_good(by_reference,
                {.problem = problem, .variant = "ref", .placement = lab::Placement::transposed});
    expect_good(backends.op(op.name, "kernel"), {.problem = problem, .variant = op.variants.front().name});
  }
}

TEST_P(BackendsOnDevice, TheOneThatIsSetRuns) {
  Backends backends;
  backends.add("softmax_online", "sevens",
               [](const lab::Call& call) { call.operands[0].fill(7, call.stream); });
  EXPECT_NEAR(softmax(backends, small()).index(0, 1).index(0, 2).item(*stream_), 0.66524096, 1e-6);
  backends.set("softmax_online", "ref");
  EXPECT_NEAR(softmax(backends, small()).index(0, 1).index(0, 2).item(*stream_), 0.66524096, 1e-6);
  backends.set("softmax_online", "sevens");
  EXPECT_EQ(softmax(backends, small()).index(0, 1).index(0, 2).item(*stream_), 7);
}

TEST_P(BackendsOnDevice, ResultsMayBeOtherArrays) {
  Backends backends;
  backends.add("softmax_online", "allocates", [](const lab::Call& call) {
    call.operands[0] = softmax_online(call.operands[1], {}, call.stream);
  });
  backends.set("softmax_online", "allocates");
  Array operands[] = {empty(context_, {2, 3}, DType::f32, *stream_), small()};
  const Array out = operands[0];
  const lab::Problem problem =
      lab::complete(find_op("softmax_online"), {.shape = {2, 3}, .dtype = DType::f32});
  backends.run(
      "softmax_online",
      {.problem = problem, .variant = "best", .config = nullptr, .operands = operands, .stream = *stream_});
  EXPECT_NEAR(out.index(0, 1).index(0, 2).item(*stream_), 0.66524096, 1e-6);
}

TEST_P(BackendsOnDevice, ResultsAreChecked) {
  Backends backends;
  const auto with = [&](Shape shape, DType dtype) {
    backends.add(
        "softmax_online", "wrong",
        [shape, dtype](const lab::Call& call) {
          call.operands[0] = ones(call.operands[1].context().shared_from_this(), shape, dtype, call.stream);
        },
        {}, Backends::Existing::overwrite);
    backends.set("softmax_online", "wrong");
    return error_of([&] { softmax(backends, small()); });
  };
  EXPECT_EQ(
      with({3, 2}, DType::f32),
      "invalid_argument: softmax_online backend 'wrong': out must have shape [2, 3]; it was made [3, 2]");
  EXPECT_EQ(with({2, 3}, DType::f16),
            "invalid_argument: softmax_online backend 'wrong': out must be f32; it was made f16");
  const auto other = Context::make(device::open_device("cpu", {}));
  backends.add("softmax_online", "elsewhere",
               [other](const lab::Call& call) {
                 const auto stream = other->make_stream();
                 call.operands[0] = ones(other, {2, 3}, DType::f32, *stream);
               },
               {});
  backends.set("softmax_online", "elsewhere");
  if (context_->device().facts().kind != device::DeviceKind::cpu) {
    EXPECT_THAT(error_of([&] { softmax(backends, small()); }),
                HasSubstr("out was made on cpu; it belongs on"));
  }
}

TEST_P(BackendsOnDevice, AMissingBackwardIsTheReferences) {
  Backends backends;
  backends.add("softmax_online", "forward_only", nothing);
  backends.add("softmax_online", "both", nothing,
               [](const lab::Call& call) { call.operands[0].fill(7, call.stream); });
  const Array inputs[] = {from<float>({1, 0, 0}, {1, 3}), from<float>({0.5, 0.25, 0.25}, {1, 3})};
  const auto backward = [&] {
    return backends
        .run("softmax_online_backward", {.shape = {1, 3}, .dtype = DType::f32}, inputs, *stream_)[0]
        .to_vector<float>(*stream_);
  };
  EXPECT_THAT(backward(), ElementsAre(0.25F, -0.125F, -0.125F));  // the kernel's
  backends.set("softmax_online", "forward_only");
  EXPECT_THAT(backward(), ElementsAre(0.25F, -0.125F, -0.125F));
  backends.set("softmax_online", "both");
  EXPECT_THAT(backward(), ElementsAre(7, 7, 7));
}

TEST_P(BackendsOnDevice, InputsAreCounted) {
  const Backends backends;
  const Array inputs[] = {small(), small()};
  const lab::Problem problem{.shape = {2, 3}, .dtype = DType::f32};
  EXPECT_EQ(error_of([&] { backends.run("softmax_online", problem, inputs, *stream_); }),
            "invalid_argument: softmax_online: 1 inputs were expected; found 2");
  EXPECT_EQ(
      error_of([&] { backends.run("softmax_online_backward", problem, std::span(inputs, 1), *stream_); }),
      "invalid_argument: softmax_online_backward: input y is missing; found 1");
  const Array transposed[] = {small().transpose()};
  EXPECT_EQ(error_of([&] { backends.run("softmax_online", problem, transposed, *stream_); }),
            "invalid_argument: softmax_online: x must be f32 [2, 3]; found f32 [3, 2]");
}

}  // namespace
}  // namespace gpuforge::ops
