// A loaded program: the PTX, its variables in memory, and the images decoded so far. Not installed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/ptx/tree.h"
#include "gpuforge/sim/code.h"
#include "gpuforge/sim/memory.h"
#include "gpuforge/sim/simulator.h"

namespace gpuforge::sim {

// A variable of the module that has an address before any launch.
struct PlacedVariable {
  const ptx::Variable* variable = nullptr;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

// Of std::calloc, so that a large array costs nothing until it is touched.
struct FreeStorage {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};

struct Program {
  Program() = default;
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string name;
  ptx::Module module;
  std::shared_ptr<Memory> memory;
  std::vector<std::unique_ptr<std::byte[], FreeStorage>> storage;
  std::vector<std::uint64_t> registered;                              // allocations of `memory` to take back
  std::unordered_map<std::string_view, PlacedVariable> variables;     // global and constant
  std::unordered_map<std::string_view, const ptx::Variable*> shared;  // of module scope
  std::unordered_map<std::string_view, std::uint32_t>
      functions;  // index in module.functions; definitions win
  mutable std::mutex mutex;
  mutable std::map<std::string, std::shared_ptr<const Image>, std::less<>> images;  // by entry
};

// Sizes of PTX variables; parse Errors for types that are none or sizes beyond 2^40.
std::size_t element_bytes(const ptx::Module& module, const ptx::Variable& variable);
std::size_t variable_bytes(const ptx::Module& module, const ptx::Variable& variable);
std::size_t variable_alignment(const ptx::Module& module, const ptx::Variable& variable);
[[noreturn]] void fail(ErrorCode code, const ptx::Module& module, const ptx::Position& at,
                       std::string_view message);

// Decodes (once) the entry and what it reaches.
std::shared_ptr<const Image> image_of(const Program& program, std::string_view entry);
std::shared_ptr<Image> decode_image(const Program& program, const ptx::Function& entry);

}  // namespace gpuforge::sim
