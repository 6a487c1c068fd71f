// Follows .loc through a function, to tell which call a line was inlined at. Not a public header.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "gpuforge/ptx/tree.h"

namespace gpuforge::ptx {

class Inlinings {
 public:
  // The number of this inlining in `module`, where it is added when it is new. Its call is the one that the
  // last .loc with the same place stood for.
  std::uint32_t add(Module& module, Inlining inlining);
  void saw(const SourceLine& line);
  void forget_lines() { lines_.clear(); }  // another function starts

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  static Place place(const SourceLine& line) { return {line.file, line.line, line.column}; }

  std::map<Place, std::uint32_t> lines_;  // those that are inlined
  std::map<std::tuple<std::string_view, std::uint32_t, Place, std::uint32_t>, std::uint32_t> known_;
};

}  // namespace gpuforge::ptx
