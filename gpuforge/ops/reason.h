// Why a configuration was chosen: a sentence and the numbers in it, put together when somebody asks. Choosing
// is a part of every call of an op; asking is not. Not installed.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpuforge/base/format.h"

namespace gpuforge::ops {

class Reason {
 public:
  // A literal with a {} for each number; the compiler counts them.
  template <std::size_t kNumbers>
  struct Sentence {
    template <std::size_t kBytes>
    consteval Sentence(const char (&literal)[kBytes]) : text(literal, kBytes - 1) {
      std::size_t fields = 0;
      for (std::size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2))
        ++fields;
      if (fields != kNumbers) throw "a reason has as many numbers as its sentence has {}";
    }
    std::string_view text;
  };

  template <std::size_t kBytes>
  consteval Reason(const char (&literal)[kBytes]) : sentence_(Sentence<0>(literal).text) {}
  template <std::integral... Numbers>
  requires(sizeof...(Numbers) > 0 && sizeof...(Numbers) <= 4)
      Reason(Sentence<sizeof...(Numbers)> sentence, Numbers... numbers)
      : sentence_(sentence.text), numbers_{static_cast<std::int64_t>(numbers)...} {}

  std::string text() const {
    return format_text(sentence_, numbers_[0], numbers_[1], numbers_[2], numbers_[3]);
  }

 private:
  std::string_view sentence_;
  std::array<std::int64_t, 4> numbers_{};
};

}  // namespace gpuforge::ops
