// Which instantiation of a kernel file of ours: the file, the template and its arguments, as a value. Calls
// of ops look their kernels up by it. Comparing and hashing it are a few numbers, and its text is written
// only where there is something to compile; the text is made of the value alone, so that no two kernels have
// one id.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpuforge/base/dtype.h"

namespace gpuforge::jit {

// A text that is there as long as the program runs, and its hash, which of a literal costs nothing.
class FixedText {
 public:
  template <std::size_t kBytes>
  consteval FixedText(const char (&literal)[kBytes]) : FixedText(std::string_view(literal, kBytes - 1)) {}
  // Of a table that is never destroyed.
  static constexpr FixedText of(std::string_view text) { return FixedText(text); }

  constexpr std::string_view text() const { return text_; }
  constexpr std::uint64_t hash() const { return hash_; }
  // By characters, which need not be read where both are at one place.
  friend bool operator==(const FixedText& a, const FixedText& b) {
    if (a.hash_ != b.hash_ || a.text_.size() != b.text_.size()) return false;
    return a.text_.data() == b.text_.data() || a.text_ == b.text_;
  }

 private:
  constexpr explicit FixedText(std::string_view text) : text_(text) {
    for (const char character : text) {
      hash_ = (hash_ ^ static_cast<unsigned char>(character)) * 0x100000001b3;  // FNV-1a
    }
  }
  std::string_view text_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// Template arguments besides dtypes, integers, bools and words such as "gpuforge::Sum":
struct BitsType {  // an unsigned integer (kernels/device_type.h)
  std::size_t bytes;
};
struct OneOf {  // a template of one dtype: gpuforge::Elements<float>
  FixedText name;
  DType dtype;
};

class KernelId {
 public:
  // KernelId("gpuforge/ops/x/x.cu", "gpuforge::x", dtype, 4, true) is gpuforge::x<float, 4, true> of that
  // file.
  template <typename... Arguments>
  KernelId(FixedText file, FixedText kernel, const Arguments&... arguments)
      : file_(file), kernel_(kernel), hash_(file.hash()) {
    mix(kernel.hash());
    (add(arguments), ...);
  }
  KernelId(const KernelId& other) : file_(other.file_), kernel_(other.kernel_) { *this = other; }
  KernelId& operator=(const KernelId& other);

  // The next argument.
  void add(DType dtype) { put(Kind::type, static_cast<std::uint64_t>(dtype)); }
  void add(BitsType bits) {
    if (bits.bytes == 1) return add(DType::u8);  // one text, one id
    put(Kind::bits, bits.bytes);
  }
  void add(FixedText word) { put(Kind::word, word, 0); }
  void add(OneOf one) { put(Kind::one, one.name, static_cast<std::uint64_t>(one.dtype)); }
  void add(std::integral auto value) {
    put(std::same_as<decltype(value), bool> ? Kind::flag : Kind::number, static_cast<std::uint64_t>(value));
  }
  // space::name
  void add_member(FixedText space, FixedText name) {
    put(Kind::space, space, 0);
    put(Kind::word, name, 0);
  }
  // What is added until close() are arguments of this template, which is one of the kernel's.
  void open(FixedText name) { put(Kind::open, name, 0); }
  void close() { put(Kind::close, 0); }

  std::string_view file() const { return file_.text(); }
  std::string expression() const;
  std::size_t hash() const { return hash_; }
  friend bool operator==(const KernelId& a, const KernelId& b);

 private:
  enum class Kind : std::uint8_t { type, bits, space, word, one, number, flag, open, close };
  // Without initial values: of the array below only the first count_ are looked at.
  struct Part {
    std::uint64_t value;
    const char* text;
    std::uint32_t text_bytes;
    Kind kind;
  };
  static constexpr std::size_t kMostParts = 40;  // a fused kernel of 28 inputs has 34

  void mix(std::uint64_t number) {
    hash_ = (hash_ ^ number) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 32;
  }
  void put(Kind kind, std::uint64_t value) {
    mix(value * 16 + static_cast<std::uint64_t>(kind));
    next_part() = {value, nullptr, 0, kind};
  }
  void put(Kind kind, FixedText text, std::uint64_t value) {
    mix(text.hash());
    mix(value * 16 + static_cast<std::uint64_t>(kind));
    next_part() = {value, text.text().data(), static_cast<std::uint32_t>(text.text().size()), kind};
  }
  Part& next_part() {
    GPUFORGE_ASSERT(count_ < kMostParts, "{} has more than {} template arguments", kernel_.text(),
                    kMostParts);
    return parts_[count_++];
  }
  static std::string text_of(const Part& part);

  FixedText file_;
  FixedText kernel_;
  std::uint64_t hash_;
  std::size_t count_ = 0;
  std::array<Part, kMostParts> parts_;
};

}  // namespace gpuforge::jit
