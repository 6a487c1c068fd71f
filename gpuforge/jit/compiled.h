// Third stage: what the compiler made, with a report per kernel. Touches no device.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuforge/jit/arch.h"

namespace gpuforge::jit {

struct Parameter {
  std::size_t bytes = 0;
  std::string ptx_type;       // "u64", "f32", "b8[24]"
  std::string declared_type;  // "const float*" where the source or the mangled name tells; else empty
  std::string name;           // "x" where the source tells; else empty
};

struct Entry {
  std::string name;        // as loaded: "saxpy", "_Z1fIfEvPT_"
  std::string expression;  // as asked for or demangled: "saxpy", "f<float>"
  int registers = 0;       // this and the next four: machine code only, 0 for PTX
  std::size_t stack_bytes = 0;
  std::size_t spill_store_bytes = 0;
  std::size_t spill_load_bytes = 0;
  std::size_t static_shared_bytes = 0;
  std::vector<Parameter> parameters;
};

struct Compiled {
  Arch arch;
  std::string source_name;
  std::string key;  // hex, as in the cache
  std::string ptx;
  std::string cubin;             // empty for virtual archs
  std::string log;               // warnings and ptxas remarks
  std::string compiler_version;  // "13.0.88"
  double compile_ms = 0;         // spent when it was really compiled
  bool from_cache = false;
  std::vector<Entry> entries;

  // By loaded name, expression or unqualified name. Not there: invalid_argument listing those that are.
  const Entry& entry(std::string_view name) const;
  // What to load: the cubin, or the PTX.
  std::string_view image() const { return cubin.empty() ? std::string_view(ptx) : std::string_view(cubin); }
};

// Warnings that mean slower code than written: spills, ptxas advisories (C75xx). Empty is good.
std::vector<std::string> performance_warnings(const Compiled& compiled);

// Entries and parameters from PTX text (a .ptx file, or NVRTC's output). parse Error when it is not PTX.
std::vector<Entry> entries_from_ptx(std::string_view ptx, std::string_view name);
// Adds declared parameter types and names found in the source text or the mangled name.
void add_declared_types(std::vector<Entry>& entries, std::string_view source_text);
// Adds registers, stack, spills and shared memory from ptxas -v remarks in a log.
void add_resources(std::vector<Entry>& entries, std::string_view log);

}  // namespace gpuforge::jit
