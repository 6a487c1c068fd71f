#include "gpuforge/sim/builtins.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/address.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

constexpr std::size_t kMaxText = 64 * 1024;

// Bytes of a thread at a generic address, where they are readable.
bool read_bytes(Warp& warp, int lane, std::uint64_t address, void* to, std::size_t bytes) {
  Block& block = *warp.block;
  const Located at = locate(address);
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  if (at.space == Space::local) {
    if (at.offset > block.local_stride || bytes > block.local_stride - at.offset) return false;
    std::memcpy(to, block.local + std::size_t{thread} * block.local_stride + at.offset, bytes);
    return true;
  }
  if (at.space == Space::shared) {
    if (at.offset > block.launch->shared_bytes || bytes > block.launch->shared_bytes - at.offset)
      return false;
    std::memcpy(to, block.shared + at.offset, bytes);
    return true;
  }
  if (at.space != Space::global || find_allocation(*block.launch, address, bytes) == nullptr) return false;
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return true;
}

// Compilers pass the arguments of printf in local memory.
bool never_written(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes) {
  const Block& block = *warp.block;
  const Located at = locate(address);
  if (!block.launch->checks.initialized || at.space != Space::local) return false;
  if (at.offset > block.local_stride || bytes > block.local_stride - at.offset) return false;
  const std::uint64_t thread = std::uint64_t{warp.index} * kLanes + static_cast<std::uint64_t>(lane);
  return !all_written(block.local_initialized, thread * block.local_stride + at.offset, bytes);
}

std::string read_string(Warp& warp, int lane, std::uint64_t address) {
  std::string text;
  char one = 0;
  while (text.size() < kMaxText && read_bytes(warp, lane, address + text.size(), &one, 1) && one != 0)
    text += one;
  return text;
}

// One conversion of a format, with its flags but without its length: "%-8.3", 'd', and how long it said to
// be.
struct Conversion {
  std::string spec;
  char kind = 0;
  bool wide = false;
};

// vprintf's arguments lie as in C's va_list of structs: 4 or 8 bytes, each aligned to its size.
class Arguments {
 public:
  Arguments(Warp& warp, int lane, std::uint64_t address) : warp_(warp), lane_(lane), at_(address) {}
  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    unwritten_ |= never_written(warp_, lane_, at_, sizeof(T));
    read_bytes(warp_, lane_, at_, &value, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  bool unwritten() const { return unwritten_; }  // one of those taken so far

 private:
  Warp& warp_;
  const int lane_;
  std::uint64_t at_;
  bool unwritten_ = false;
};

template <class T>
std::string formatted(const std::string& spec, T value) {
  char text[512];
  const int length = std::snprintf(text, sizeof(text), spec.c_str(), value);
  return length < 0 ? std::string()
                    : std::string(text, std::min(static_cast<std::size_t>(length), sizeof(text) - 1));
}

std::string convert(Warp& warp, int lane, const Conversion& conversion, Arguments& arguments) {
  const std::string base = "%" + conversion.spec;
  switch (conversion.kind) {
    case 'd':
    case 'i':
      if (conversion.wide) return formatted(base + "lld", arguments.next<long long>());
      return formatted(base + "d", arguments.next<int>());
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      if (conversion.wide)
        return formatted(base + "ll" + conversion.kind, arguments.next<unsigned long long>());
      return formatted(base + conversion.kind, arguments.next<unsigned>());
    case 'c':
      return formatted(base + "c", arguments.next<int>());
    case 'p':
      return formatted(base + "llx", arguments.next<unsigned long long>());
    case 's': {
      const std::string text = read_string(warp, lane, arguments.next<std::uint64_t>());
      return conversion.spec.empty() ? text : formatted(base + "s", text.c_str());
    }
    default:
      return formatted(base + conversion.kind, arguments.next<double>());
  }
}

std::string format_printf(Warp& warp, int lane, const std::string& pattern, Arguments& arguments) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    if (++i < pattern.size() && pattern[i] == '%') {
      out += '%';
      continue;
    }
    Conversion conversion;
    while (i < pattern.size() && std::strchr("-+ #0123456789.*", pattern[i]) != nullptr) {
      if (pattern[i] == '*')
        conversion.spec += format_text("{}", arguments.next<int>());
      else
        conversion.spec += pattern[i];
      ++i;
    }
    int longs = 0;
    while (i < pattern.size() && std::strchr("hlLjzt", pattern[i]) != nullptr) {
      longs += pattern[i] == 'h' ? 0 : 1;
      ++i;
    }
    conversion.wide = longs > 0;
    // Width and precision above 400 would not fit anybody's line.
    if (conversion.spec.size() > 8) conversion.spec.clear();
    if (i >= pattern.size() || std::strchr("diuxXocpsfFeEgGaA", pattern[i]) == nullptr) break;
    conversion.kind = pattern[i];
    out += convert(warp, lane, conversion, arguments);
  }
  return out;
}

// The i-th argument of a call, of up to 8 bytes, as `lane` gives it.
std::uint64_t argument(const Warp& warp, const Call& call, std::size_t index, int lane) {
  if (index >= call.arguments.size()) return 0;
  const Passed& passed = call.arguments[index];
  const auto place = static_cast<std::size_t>(lane);
  const std::byte* const at =
      passed.in_row ? warp.rows + passed.offset + place * passed.bytes
                    : warp.frame->params.data() + place * warp.frame->code->param_bytes + passed.offset;
  std::uint64_t value = 0;
  std::memcpy(&value, at, std::min<std::size_t>(passed.bytes, 8));
  return value;
}

}  // namespace

bool call_builtin(Warp& warp, const Op* op, const Call& call) {
  Launch& launch = *warp.block->launch;
  if (call.builtin == Builtin::assertfail) {
    const int lane = std::countr_zero(warp.active);
    const std::string condition = read_string(warp, lane, argument(warp, call, 0, lane));
    const std::string file = read_string(warp, lane, argument(warp, call, 1, lane));
    const auto line = static_cast<std::uint32_t>(argument(warp, call, 2, lane));
    const std::string function = read_string(warp, lane, argument(warp, call, 3, lane));
    if (Finding* finding = report(warp, op, FindingKind::assertion, lane, true))
      finding->message = format_text("{}:{}: {}: assertion `{}` failed", file, line, function, condition);
    return false;
  }
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::string pattern = read_string(warp, lane, argument(warp, call, 0, lane));
    Arguments arguments(warp, lane, argument(warp, call, 1, lane));
    const std::string text = format_printf(warp, lane, pattern, arguments);
    if (arguments.unwritten()) report_use(warp, op, Mask{1} << lane, "what printf prints");
    if (launch.print) launch.print(text);
    if (!call.results.empty() && !call.results[0].in_row) {
      const int length = static_cast<int>(text.size());
      std::memcpy(warp.frame->params.data() + static_cast<std::size_t>(lane) * warp.frame->code->param_bytes +
                      call.results[0].offset,
                  &length, sizeof(length));
    }
  }
  return true;
}

}  // namespace gpuforge::sim
