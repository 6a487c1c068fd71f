#include "tests/ptx/mutation.h"

#include <gtest/gtest.h>

#include <array>

#include "gpuforge/base/error.h"

namespace gpuforge::ptx_files {
namespace {

constexpr std::string_view kAlphabet = "%rdfphb0123456789.,;:{}[]()<>@!|+-_ \n\taxz$\"/*~\x01\xff";
constexpr std::array<std::string_view, 12> kExtremes = {
    "0",          "-1",         "4294967295", "4294967296", "9223372036854775807", "18446744073709551615",
    "2147483648", "0x80000000", "65536",      "1000000",    "0f7f800000",          "0d7ff0000000000000"};

std::size_t line_at(const std::string& text, std::size_t at) {
  const std::size_t found = text.rfind('\n', at);
  return found == text.npos ? 0 : found + 1;
}
std::string line_from(const std::string& text, std::size_t begin) {
  return text.substr(begin, text.find('\n', begin) - begin + 1);
}

void change(std::string& text, Random& random) {
  const std::size_t at = random.below(text.size());
  switch (random.below(7)) {
    case 0:
      text[at] = kAlphabet[random.below(kAlphabet.size())];
      break;
    case 1:
      text.erase(at, 1 + random.below(6));
      break;
    case 2:
      text.insert(at, text.substr(random.below(text.size()), random.below(24)));
      break;
    case 3: {  // a number becomes an extreme one
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == text.npos) break;
      const std::size_t end = text.find_first_not_of("0123456789", digit);
      text.replace(digit, end - digit, kExtremes[random.below(kExtremes.size())]);
      break;
    }
    case 4: {  // a line goes
      const std::size_t begin = line_at(text, at);
      text.erase(begin, line_from(text, begin).size());
      break;
    }
    case 5: {  // a line comes again, elsewhere
      const std::string line = line_from(text, line_at(text, at));
      text.insert(line_at(text, random.below(text.size())), line);
      break;
    }
    default: {  // one register, label or word for another of the same text
      const std::size_t from = text.find('%', at), to = text.find('%', random.below(text.size()));
      if (from == text.npos || to == text.npos) break;
      const auto end_of = [&](std::size_t start) { return text.find_first_of(",; \n]}.|", start); };
      const std::string word = text.substr(from, end_of(from) - from);
      text.replace(to, end_of(to) - to, word);
      break;
    }
  }
  if (text.empty()) text = " ";
}

}  // namespace

std::string mutant_of(std::string_view text, Random& random) {
  std::string mutant(text);
  for (unsigned i = 0, changes = 1 + random.below(4); i < changes; ++i) change(mutant, random);
  return mutant;
}

void run_mutants(std::string_view name, std::string_view text, std::string_view entry, const Shape& shape,
                 const std::vector<Bytes>& buffers, int mutants, MutantCounts* counts) {
  std::uint64_t seed = 0;
  for (const char letter : name) seed = seed * 31 + static_cast<unsigned char>(letter);
  Random random(seed);
  for (int i = 0; i < mutants; ++i) {
    const std::string mutant = mutant_of(text, random);
    ++counts->total;
    try {
      const SimModule module(mutant, std::string(name));
      std::vector<Bytes> given = buffers;
      module.run(entry, shape, given, {.step_limit = 5'000});
      ++counts->ran;
    } catch (const Error& error) {
      ++counts->refused;
      EXPECT_NE(error.code(), ErrorCode::internal) << error.what() << "\n" << mutant;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << mutant;
    }
  }
}

}  // namespace gpuforge::ptx_files
