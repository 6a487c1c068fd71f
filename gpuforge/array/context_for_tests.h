// A context on the device a test is instantiated for, and arrays with known elements. Included by tests
// alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge {

// Instantiate as Cpu with "cpu", Sim with "sim" (skips where there is no compiler) and Gpu with "cuda:0"
// (skips where there is none).
class ArrayTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Environment environment = read_environment();
    std::shared_ptr<device::Device> device;
    try {
      device = device::open_device(GetParam(), cuda::search_options(environment));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no " << GetParam() << " here: " << error.what();
    }
    ContextOptions options;
    options.jit = jit_options(environment);
    options.jit.cache_dir.reset();  // a test leaves nothing in the user's cache
    context_ = Context::make(device, std::move(options));
    if (device->facts().kind == device::DeviceKind::sim) {
      try {
        context_->jit().compiler().version();
      } catch (const Error& error) {
        GTEST_SKIP() << "nothing to compile kernels with: " << error.what();
      }
    }
    stream_ = context_->make_stream();
  }

  template <typename T>
  Array from(const std::vector<T>& values, const Shape& shape) {
    return from_vector<T>(context_, std::span<const T>(values), shape, *stream_);
  }

  // 0, 1, 2, ... as int32.
  Array counting(const Shape& shape) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(element_count(shape)));
    std::iota(values.begin(), values.end(), 0);
    return from(values, shape);
  }

  std::vector<std::int32_t> ints(const Array& array) { return array.to_vector<std::int32_t>(*stream_); }

  std::shared_ptr<Context> context_;
  std::shared_ptr<device::Stream> stream_;
};

inline std::string device_case_name(const testing::TestParamInfo<const char*>& info) {
  const std::string name = info.param;
  return name.substr(0, name.find(':'));
}

// The message of the Error that `f` raises, with its code first: "invalid_argument: slice: ...".
template <typename F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.message();
  }
  return "no error";
}

}  // namespace gpuforge
