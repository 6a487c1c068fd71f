#include "gpuforge/ptx/inlinings.h"

namespace gpuforge::ptx {
namespace {

// Real code has a dozen; more is a text that goes in circles, and is cut.
constexpr int kDeepest = 64;

bool too_deep(const Module& module, std::uint32_t inlining) {
  int depth = 0;
  for (; inlining != 0; inlining = module.inlinings[inlining - 1].call.inlining)
    if (++depth >= kDeepest) return true;
  return false;
}

}  // namespace

std::uint32_t Inlinings::add(Module& module, Inlining inlining) {
  if (const auto found = lines_.find(place(inlining.call)); found != lines_.end())
    inlining.call.inlining = found->second;
  if (too_deep(module, inlining.call.inlining)) inlining.call.inlining = 0;
  const auto [at, is_new] = known_.try_emplace(
      {inlining.function, inlining.function_offset, place(inlining.call), inlining.call.inlining},
      static_cast<std::uint32_t>(module.inlinings.size() + 1));
  if (is_new) module.inlinings.push_back(inlining);
  return at->second;
}

void Inlinings::saw(const SourceLine& line) {
  if (line.inlining != 0)
    lines_[place(line)] = line.inlining;
  else if (!lines_.empty())
    lines_.erase(place(line));
}

std::string_view function_name(const Module& module, const Inlining& inlining) {
  for (const DebugString& string : module.debug_strings) {
    if (string.label != inlining.function || inlining.function_offset >= string.bytes.size()) continue;
    const std::string_view rest = std::string_view(string.bytes).substr(inlining.function_offset);
    return rest.substr(0, rest.find('\0'));
  }
  return {};
}

}  // namespace gpuforge::ptx
