#include "cli/kernel_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_request.h"
#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

jit::Parameter parameter(std::string type) {
  return {.bytes = 8, .ptx_type = "u64", .declared_type = std::move(type), .name = "x"};
}

jit::Compiled two_kernels() {
  jit::Compiled compiled;
  compiled.source_name = "k.cu";
  jit::Entry first;
  first.name = "first";
  first.expression = "first";
  first.parameters = {parameter("const float*"), {.bytes = 4, .ptx_type = "u32"}};
  jit::Entry second;
  second.name = "_Z6secondIfEvv";
  second.expression = "second<float>";
  compiled.entries = {first, second};
  return compiled;
}

TEST(KernelFile, ShowsSignatures) {
  const jit::Compiled compiled = two_kernels();
  EXPECT_EQ(signature(compiled.entries[0]), "first(const float* x, u32)");
  EXPECT_EQ(signature(compiled.entries[1]), "second<float>()");
  EXPECT_EQ(parameters_json(compiled.entries[0]).as_array().size(), 2u);
}

TEST(KernelFile, ChoosesAnEntryOrListsThem) {
  jit::Compiled compiled = two_kernels();
  EXPECT_EQ(choose_entry(compiled, "first").name, "first");
  EXPECT_EQ(choose_entry(compiled, "second<float>").name, "_Z6secondIfEvv");
  try {
    choose_entry(compiled, "");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "k.cu: --kernel is needed, since there are 2 kernels: first, second<float>");
  }
  try {
    choose_entry(compiled, "third");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("first, second<float>"));
  }
  compiled.entries.pop_back();
  EXPECT_EQ(choose_entry(compiled, "").name, "first");
  compiled.entries.clear();
  EXPECT_THROW(choose_entry(compiled, ""), Error);
}

TEST(KernelFile, ComparesPointeesWithDtypes) {
  EXPECT_FALSE(pointee_mismatch(parameter("const float*"), DType::f32));
  EXPECT_FALSE(pointee_mismatch(parameter("float *"), DType::f32));
  EXPECT_FALSE(pointee_mismatch(parameter("unsigned int*"), DType::i32));
  EXPECT_FALSE(pointee_mismatch(parameter("const __half*"), DType::f16));
  EXPECT_FALSE(pointee_mismatch(parameter("char*"), DType::f64));
  EXPECT_FALSE(pointee_mismatch(parameter("void*"), DType::i8));
  EXPECT_FALSE(pointee_mismatch(parameter("Thing*"), DType::i8));
  EXPECT_FALSE(pointee_mismatch(parameter(""), DType::i8));
  EXPECT_EQ(pointee_mismatch(parameter("const float*"), DType::i32),
            "parameter 'x' is declared const float*, but its array holds i32");
  EXPECT_TRUE(pointee_mismatch(parameter("float*"), DType::f64));
  EXPECT_TRUE(pointee_mismatch(parameter("std::int64_t*"), DType::i32));
}

Invocation request_of(std::vector<std::pair<std::string, std::string>> options) {
  Invocation invocation;
  invocation.positionals = {"k.cu"};
  for (auto& [name, value] : options) invocation.add(name, value);
  return invocation;
}

std::string complaint(std::vector<std::pair<std::string, std::string>> options) {
  try {
    read_run_request(request_of(std::move(options)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(RunRequest, ReadsALaunch) {
  const RunRequest request = read_run_request(request_of({{"grid", "4,2"},
                                                          {"block", "256"},
                                                          {"shared", "64KiB"},
                                                          {"cluster", "2,1,1"},
                                                          {"cooperative", ""},
                                                          {"arg", "in:f32[4]=random"},
                                                          {"arg", "y=out:f32[4]"},
                                                          {"arg", "inout:f32[4]=ones"},
                                                          {"out-dir", "results"},
                                                          {"save", "y=y.bin"},
                                                          {"repeat", "5"},
                                                          {"seed", "7"}}));
  EXPECT_EQ(request.config.grid, (device::Dim3{4, 2, 1}));
  EXPECT_EQ(request.config.block, (device::Dim3{256, 1, 1}));
  EXPECT_EQ(request.config.cluster, (device::Dim3{2, 1, 1}));
  EXPECT_EQ(request.config.dynamic_shared_bytes, 65536u);
  EXPECT_TRUE(request.config.cooperative);
  EXPECT_EQ(request.repeat, 5);
  EXPECT_EQ(request.seed, 7u);
  EXPECT_TRUE(request.uses_seed);
  EXPECT_FALSE(request.saves[0].has_value());
  EXPECT_EQ(request.saves[1], "y.bin");
  EXPECT_EQ(request.saves[2], "results/arg2.npy");
}

TEST(RunRequest, RefusesWithASentence) {
  EXPECT_EQ(complaint({{"block", "1"}}), "run: --grid is missing: X[,Y[,Z]], how many blocks");
  EXPECT_THAT(complaint({{"grid", "1"}}), HasSubstr("--block is missing"));
  EXPECT_EQ(complaint({{"grid", "0"}, {"block", "1"}}),
            "run: --grid is X[,Y[,Z]], whole numbers from 1, but '0' was given");
  EXPECT_THAT(complaint({{"grid", "1,2,3,4"}, {"block", "1"}}), HasSubstr("at most three extents"));
  EXPECT_THAT(complaint({{"grid", "1,"}, {"block", "1"}}), HasSubstr("whole numbers from 1"));
  EXPECT_THAT(complaint({{"grid", "-1"}, {"block", "1"}}), HasSubstr("whole numbers from 1"));
  EXPECT_THAT(complaint({{"grid", "4294967296"}, {"block", "1"}}), HasSubstr("whole numbers from 1"));
  EXPECT_THAT(complaint({{"grid", "1"}, {"block", "1"}, {"shared", "much"}}),
              HasSubstr("--shared is a number of bytes"));
  EXPECT_THAT(complaint({{"grid", "1"}, {"block", "1"}, {"repeat", "0"}}), HasSubstr("--repeat"));
  EXPECT_THAT(complaint({{"grid", "1"}, {"block", "1"}, {"arg", "a=f32:1"}, {"arg", "a=f32:1"}}),
              HasSubstr("two arguments are called 'a'"));
  EXPECT_THAT(complaint({{"grid", "1"}, {"block", "1"}, {"save", "y"}}), HasSubstr("--save is NAME=FILE"));
  EXPECT_THAT(complaint({{"grid", "1"}, {"block", "1"}, {"arg", "y=out:f32[1]"}, {"save", "z=z.npy"}}),
              HasSubstr("--save names 'z', but the outputs are y"));
  EXPECT_THAT(complaint({{"grid", "1"}, {"block", "1"}, {"save", "z=z.npy"}}),
              HasSubstr("no out or inout argument"));
}

}  // namespace
}  // namespace gpuforge::cli
