#include "gpuforge/base/utf8.h"

#include <cstddef>

namespace gpuforge {
namespace {

struct Sequence {
  std::size_t bytes;  // length of the character, or of the broken prefix
  bool valid;
};

bool within(unsigned char c, unsigned char low, unsigned char high) {
  return c >= low && c <= high;
}

// The character that starts `text`, which is not empty. Table 3-7 of the Unicode standard: only the second
// byte has a range that depends on the first.
Sequence first_sequence(std::string_view text) {
  const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte_at(0);
  if (lead < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (within(lead, 0xc2, 0xdf)) {
    length = 2;
  } else if (within(lead, 0xe0, 0xef)) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (within(lead, 0xf0, 0xf4)) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || !within(byte_at(i), low, high)) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

}  // namespace

std::string repair_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = first_sequence(text);
    if (sequence.valid) {
      result += text.substr(0, sequence.bytes);
    } else {
      result += "\xef\xbf\xbd";
    }
    text.remove_prefix(sequence.bytes);
  }
  return result;
}

}  // namespace gpuforge
