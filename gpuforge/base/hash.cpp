#include "gpuforge/base/hash.h"

#define XXH_INLINE_ALL  // header only: the library travels inside the program
#include <xxhash.h>

#include <array>

namespace gpuforge {
namespace {

// Field kinds, so that a number and the text of its eight bytes differ too.
enum class FieldKind : unsigned char { text = 't', number = 'n' };

std::array<unsigned char, 8> little_endian(std::uint64_t value) {
  std::array<unsigned char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  return bytes;
}

Hash128 from_xxh(XXH128_hash_t hash) {
  return {.high = hash.high64, .low = hash.low64};
}

}  // namespace

std::string Hash128::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 0xf];
  }
  return text;
}

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 hash_text(std::string_view text) {
  return from_xxh(XXH3_128bits(text.data(), text.size()));
}

struct Hasher::State {
  XXH3_state_t xxh;

  void add(FieldKind kind, std::uint64_t number) {
    const auto tag = static_cast<unsigned char>(kind);
    XXH3_128bits_update(&xxh, &tag, 1);
    const auto bytes = little_endian(number);
    XXH3_128bits_update(&xxh, bytes.data(), bytes.size());
  }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::string_view field) {
  state_->add(FieldKind::text, field.size());
  XXH3_128bits_update(&state_->xxh, field.data(), field.size());
  return *this;
}

Hasher& Hasher::add(std::uint64_t field) {
  state_->add(FieldKind::number, field);
  return *this;
}

Hash128 Hasher::finish() const {
  return from_xxh(XXH3_128bits_digest(&state_->xxh));
}

}  // namespace gpuforge
