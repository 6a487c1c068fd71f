// Runs pieces of PTX for tests: one kernel named k with 64-bit pointer parameters a, b, c (as many as given).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/simulator.h"

namespace gpuforge::sim {

// A module around a body. `before` stands at module scope.
inline std::string module_text(const std::string& body, int parameters, const std::string& before = "") {
  std::string list;
  for (int i = 0; i < parameters; ++i)
    list += format_text("{}.param .u64 {}", i == 0 ? "" : ", ", char('a' + i));
  return format_text(
      ".version 8.5\n.target sm_90a\n.address_size 64\n{}\n.visible .entry k({})\n{{\n"
      ".reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<60>; .reg .b64 %d<40>; .reg .f32 %f<20>; .reg .f64 "
      "%e<10>;\n"
      "{}\n}}\n",
      before, list, body);
}

class TestRun {
 public:
  explicit TestRun(std::string ptx) : program_(load_program(memory_, std::move(ptx), "test.ptx")) {}
  ~TestRun() {
    for (const auto& buffer : buffers_) memory_->remove(reinterpret_cast<std::uint64_t>(buffer->data()));
  }
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;

  // The next parameter: a buffer of 32-bit words.
  std::vector<std::uint32_t>& words(std::vector<std::uint32_t> values, bool initialized = true) {
    buffers_.push_back(std::make_unique<std::vector<std::uint32_t>>(std::move(values)));
    std::vector<std::uint32_t>& buffer = *buffers_.back();
    memory_->add(reinterpret_cast<std::uint64_t>(buffer.data()), buffer.size() * 4,
                 format_text("buffer {}", buffers_.size() - 1), initialized);
    return buffer;
  }
  std::vector<std::uint32_t>& words(std::size_t count, bool initialized = true) {
    return words(std::vector<std::uint32_t>(count), initialized);
  }

  LaunchReport run(const Index3& grid = {1, 1, 1}, const Index3& block = {32, 1, 1}, std::size_t shared = 0) {
    std::vector<std::uint64_t> addresses;
    for (const auto& buffer : buffers_) addresses.push_back(reinterpret_cast<std::uint64_t>(buffer->data()));
    std::vector<const void*> arguments;
    for (const std::uint64_t& address : addresses) arguments.push_back(&address);
    return launch(*program_, "k",
                  {.grid = grid, .block = block, .dynamic_shared_bytes = shared, .cluster = cluster},
                  arguments, options);
  }
  const Program& program() const { return *program_; }

  Options options;
  Index3 cluster{1, 1, 1};

 private:
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> buffers_;
};

// %d0 = a + 4 * tid.x: where each thread's word of the first buffer lies.
inline constexpr const char* kOwnWord =
    "mov.u32 %r0, %tid.x; ld.param.u64 %d1, [a]; mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d1, %d2;\n";

}  // namespace gpuforge::sim
