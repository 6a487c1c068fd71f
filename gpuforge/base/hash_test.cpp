#include "gpuforge/base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace gpuforge {
namespace {

// The buffer and the answers of the XXH project's own sanity test.
std::string sanity_buffer(std::size_t size) {
  std::string buffer;
  std::uint64_t generator = 2654435761u;
  for (std::size_t i = 0; i < size; ++i) {
    buffer += static_cast<char>(generator >> 56);
    generator *= 11400714785074694797u;
  }
  return buffer;
}

TEST(Hash, KnownAnswers) {
  EXPECT_EQ(hash_text("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_text(sanity_buffer(1)), (Hash128{.high = 0xa6cd5e9392000f6a, .low = 0xc44bdff4074eecdb}));
  EXPECT_EQ(hash_text(sanity_buffer(6)), (Hash128{.high = 0x082afe0b8162d12a, .low = 0x3e7039bdda43cfc6}));
  EXPECT_EQ(hash_text(sanity_buffer(12)), (Hash128{.high = 0x6e3efd8fc7802b18, .low = 0x061a192713f69ad9}));
}

TEST(Hash, HexHasLeadingZeros) {
  EXPECT_EQ((Hash128{.high = 0, .low = 0xab}).hex(), "000000000000000000000000000000ab");
}

TEST(Hash, BytesAndTextAgreeAtEveryLength) {
  std::set<std::string> seen;
  const std::string buffer = sanity_buffer(600);
  for (std::size_t size = 0; size <= buffer.size(); ++size) {
    const std::string_view text(buffer.data(), size);
    EXPECT_EQ(hash_bytes(std::as_bytes(std::span(text))), hash_text(text));
    seen.insert(hash_text(text).hex());
  }
  EXPECT_EQ(seen.size(), buffer.size() + 1);
}

Hash128 hash_fields(std::initializer_list<std::string_view> fields) {
  Hasher hasher;
  for (std::string_view field : fields) hasher.add(field);
  return hasher.finish();
}

TEST(Hasher, FieldsDoNotRunTogether) {
  EXPECT_EQ(hash_fields({"ab", "c"}), hash_fields({"ab", "c"}));
  EXPECT_NE(hash_fields({"ab", "c"}), hash_fields({"a", "bc"}));
  EXPECT_NE(hash_fields({"abc"}), hash_fields({"abc", ""}));
  EXPECT_NE(hash_fields({}), hash_fields({""}));
  EXPECT_NE(hash_fields({"a", "b"}), hash_fields({"b", "a"}));
}

TEST(Hasher, ANumberIsNotTheTextOfItsBytes) {
  const std::string_view bytes("\x07\0\0\0\0\0\0\0", 8);
  EXPECT_NE(Hasher().add(std::uint64_t{7}).finish(), Hasher().add(bytes).finish());
  EXPECT_NE(Hasher().add(std::uint64_t{7}).finish(), Hasher().add(std::uint64_t{8}).finish());
  EXPECT_NE(Hasher().add(std::uint64_t{0}).finish(), Hasher().add("").finish());
}

TEST(Hasher, FinishingIsALook) {
  Hasher hasher;
  hasher.add("a");
  const Hash128 first = hasher.finish();
  EXPECT_EQ(hasher.finish(), first);
  hasher.add("b");
  EXPECT_EQ(hasher.finish(), hash_fields({"a", "b"}));
}

TEST(Hasher, LongFieldsStream) {
  const std::string big(1 << 20, 'x');
  EXPECT_EQ(hash_fields({big, big}), hash_fields({big, big}));
  EXPECT_NE(hash_fields({big}), hash_fields({big.substr(1)}));
}

}  // namespace
}  // namespace gpuforge
