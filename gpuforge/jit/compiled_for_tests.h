// A made-up Compiled with every field set, different for each seed.
#pragma once

#include <string>

#include "gpuforge/base/hash.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {

inline Hash128 key_for_tests(int seed) {
  return hash_text("key " + std::to_string(seed));
}

inline Compiled compiled_for_tests(int seed, std::size_t bytes = 300) {
  const std::string number = std::to_string(seed);
  Compiled compiled;
  compiled.arch = Arch::parse(seed % 2 == 0 ? "sm_90a" : "compute_80");
  compiled.source_name = "dir/kernel_" + number + ".cu";
  compiled.key = key_for_tests(seed).hex();
  compiled.ptx = ".version 9.0 // " + number + "\n";
  while (compiled.ptx.size() < bytes) compiled.ptx += "ret; // " + number + "\n";
  if (!compiled.arch.is_virtual) {
    compiled.cubin = std::string("\x7f\x45\x4c\x46\0\xff", 6) + number;
    while (compiled.cubin.size() < bytes) compiled.cubin += static_cast<char>(compiled.cubin.size() * 7);
  }
  compiled.log = "warning: " + number + "\n";
  compiled.compiler_version = "13.0." + number;
  compiled.compile_ms = 12.25 + seed;
  Entry entry;
  entry.name = "_Z1fIfEvPT_" + number;
  entry.expression = "f<float>";
  entry.registers = 32 + seed;
  entry.stack_bytes = 8;
  entry.spill_store_bytes = 4;
  entry.spill_load_bytes = 12;
  entry.static_shared_bytes = 1024;
  entry.parameters = {{8, "u64", "const float*", "x"}, {24, "b8[24]", "", ""}};
  Entry second;
  second.name = "plain";
  compiled.entries = {entry, second};
  return compiled;
}

// Everything a cache must give back; from_cache and source_name are the cache's own to set.
inline bool same_for_tests(const Compiled& a, const Compiled& b) {
  if (a.arch != b.arch || a.key != b.key || a.ptx != b.ptx || a.cubin != b.cubin || a.log != b.log)
    return false;
  if (a.compiler_version != b.compiler_version || a.compile_ms != b.compile_ms) return false;
  if (a.entries.size() != b.entries.size()) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const Entry& x = a.entries[i];
    const Entry& y = b.entries[i];
    if (x.name != y.name || x.expression != y.expression || x.registers != y.registers) return false;
    if (x.stack_bytes != y.stack_bytes || x.spill_store_bytes != y.spill_store_bytes) return false;
    if (x.spill_load_bytes != y.spill_load_bytes || x.static_shared_bytes != y.static_shared_bytes)
      return false;
    if (x.parameters.size() != y.parameters.size()) return false;
    for (std::size_t j = 0; j < x.parameters.size(); ++j) {
      const Parameter& p = x.parameters[j];
      const Parameter& q = y.parameters[j];
      if (p.bytes != q.bytes || p.ptx_type != q.ptx_type || p.declared_type != q.declared_type ||
          p.name != q.name) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace gpuforge::jit
