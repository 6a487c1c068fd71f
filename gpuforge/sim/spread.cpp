#include "gpuforge/sim/spread.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

bool is_integer(Type type) {
  switch (type) {
    case Type::u8:
    case Type::s8:
    case Type::b8:
    case Type::u16:
    case Type::s16:
    case Type::b16:
    case Type::u32:
    case Type::s32:
    case Type::b32:
    case Type::u64:
    case Type::s64:
    case Type::b64:
      return true;
    default:
      return false;
  }
}

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

bool has_halves(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::u16x2 || type == Type::s16x2;
}

bool is_plain(const Match& match) {  // no word but the type
  return match.modifiers.size() == 1;
}

std::uint8_t sources_of(std::string_view opcode) {
  if (opcode == "abs" || opcode == "neg") return 1;
  return opcode == "fma" || opcode == "mad" ? 3 : 2;
}

SpreadRule made(Spread kind, std::uint8_t data, Type type) {
  SpreadRule rule;
  rule.kind = kind;
  rule.data = data;
  rule.bits = rule.result_bits = static_cast<std::uint8_t>(std::min(bits(type), 64));
  rule.is_signed = is_signed(type);
  return rule;
}

SpreadRule logic(std::uint8_t data, Type type, std::uint8_t table) {
  SpreadRule rule = made(Spread::logic, data, type);
  rule.table = table;
  return rule;
}

SpreadRule comparison(const Match& match) {
  const bool equality = (match.has("eq") || match.has("ne")) && is_integer(match.type);
  SpreadRule rule = made(equality ? Spread::compare_equal : Spread::compare, 2, match.type);
  if (match.has("and")) rule.combined = Spread::predicate_and;
  if (match.has("or")) rule.combined = Spread::predicate_or;
  return rule;
}

std::optional<SpreadRule> logic_rule(std::string_view opcode, const Match& match) {
  const Type type = match.type;
  if (type == Type::pred) {
    if (opcode == "and") return made(Spread::predicate_and, 0, type);
    if (opcode == "or") return made(Spread::predicate_or, 0, type);
    return std::nullopt;
  }
  if (opcode == "and") return logic(2, type, 0xc0);
  if (opcode == "or") return logic(2, type, 0xfc);
  if (opcode == "xor") {
    SpreadRule rule = logic(2, type, 0x3c);
    rule.cancels = true;
    return rule;
  }
  if (opcode == "not") return logic(1, type, 0x0f);
  if (opcode == "lop3" && is_plain(match)) return logic(3, type, 0);
  if (opcode == "shl") return made(Spread::shift_left, 1, type);
  if (opcode == "shr") return made(Spread::shift_right, 1, type);
  if (opcode == "prmt" && is_plain(match)) return made(Spread::permute, 2, type);
  if (opcode == "bfe") return made(Spread::extract, 1, type);
  if (opcode == "bfi") return made(Spread::insert, 2, type);
  if (opcode != "shf") return std::nullopt;
  SpreadRule rule = made(match.has("l") ? Spread::funnel_left : Spread::funnel_right, 2, type);
  rule.wraps = match.has("wrap");
  return rule;
}

std::uint64_t shifted_left(std::uint64_t value, std::uint64_t amount) {
  return amount < 64 ? value << amount : 0;
}
std::uint64_t shifted_right(std::uint64_t value, std::uint64_t amount) {
  return amount < 64 ? value >> amount : 0;
}
// Bit `bits - 1` repeated above it.
std::uint64_t extended(std::uint64_t value, unsigned bits, bool with_sign) {
  value &= low_bits(bits);
  return with_sign && (value >> (bits - 1) & 1) != 0 ? value | ~low_bits(bits) : value;
}

// A bit is written when every choice of the unwritten ones gives the same.
std::uint64_t through_table(std::span<const PartlyWritten> sources, std::uint8_t table) {
  std::uint64_t ever = 0, always = ~std::uint64_t{0};
  for (unsigned choice = 0; choice < 8; ++choice) {
    std::array<std::uint64_t, 3> in{};
    for (std::size_t i = 0; i < sources.size(); ++i)
      in[i] = (choice >> i & 1) != 0 ? sources[i].value | sources[i].unwritten
                                     : sources[i].value & ~sources[i].unwritten;
    std::uint64_t result = 0;
    for (unsigned row = 0; row < 8; ++row)
      if ((table >> row & 1) != 0)
        result |= ((row & 4) != 0 ? in[0] : ~in[0]) & ((row & 2) != 0 ? in[1] : ~in[1]) &
                  ((row & 1) != 0 ? in[2] : ~in[2]);
    ever |= result;
    always &= result;
  }
  return ever & ~always;
}

std::uint64_t permuted(std::uint64_t low, std::uint64_t high, std::uint64_t control) {
  const std::uint64_t bytes = (low & low_bits(32)) | high << 32;
  std::uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint64_t pick = control >> (4 * i) & 15;
    std::uint64_t byte = bytes >> (8 * (pick & 7)) & 0xff;
    if ((pick & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

std::uint64_t field(std::uint64_t value, std::uint64_t at, std::uint64_t length, unsigned bits,
                    bool with_sign) {
  if (length == 0) return 0;
  const std::uint64_t top = std::min<std::uint64_t>(at + length - 1, bits - 1);
  const std::uint64_t filled = at < bits ? std::min<std::uint64_t>(length, bits - at) : 0;
  const std::uint64_t result = shifted_right(value, at) & low_bits(filled);
  const bool repeated = with_sign && (value >> top & 1) != 0;
  return (repeated ? result | ~low_bits(filled) : result) & low_bits(bits);
}

std::uint64_t inserted(std::uint64_t from, std::uint64_t into, std::uint64_t at, std::uint64_t length,
                       unsigned bits) {
  const std::uint64_t place = shifted_left(low_bits(length), at) & low_bits(bits);
  return (into & ~place) | (shifted_left(from, at) & place);
}

std::uint64_t by_parts(std::span<const PartlyWritten> sources, unsigned bits, unsigned part) {
  std::uint64_t result = 0;
  for (unsigned at = 0; at < bits; at += part)
    for (const PartlyWritten& source : sources)
      if ((source.unwritten >> at & low_bits(part)) != 0) result |= low_bits(part) << at;
  return result;
}

}  // namespace

SpreadRule spread_rule(std::string_view opcode, const Match& match) {
  const Type type = match.type;
  if (opcode == "ld" || opcode == "ldu") return made(Spread::everything, 0, type);
  if (opcode == "mov" && type != Type::pred && type != Type::b128) return made(Spread::copy, 1, type);
  if (opcode == "selp") return made(Spread::select, 2, type);
  if (opcode == "setp") return comparison(match);
  if (opcode == "vote" && match.has("all")) return made(Spread::vote_all, 0, type);
  if (opcode == "vote" && match.has("any")) return made(Spread::vote_any, 0, type);
  if (opcode == "vote" && match.has("ballot")) return made(Spread::ballot, 0, type);
  if (opcode == "shfl") return made(Spread::shuffle, 0, type);
  if (const auto rule = logic_rule(opcode, match)) return *rule;
  if (opcode == "cvt") {
    if (is_integer(type) && is_integer(match.other_type) && !match.has("sat")) {
      SpreadRule rule = made(Spread::convert, 1, type);
      rule.result_bits = static_cast<std::uint8_t>(bits(match.other_type));
      rule.result_signed = is_signed(match.other_type);
      return rule;
    }
    if (type == Type::f32 && has_halves(match.other_type)) return made(Spread::join, 2, type);
    return {};
  }
  const bool arithmetic = opcode == "add" || opcode == "sub" || opcode == "mul" || opcode == "mad" ||
                          opcode == "fma" || opcode == "neg" || opcode == "abs" || opcode == "min" ||
                          opcode == "max";
  if (arithmetic && has_halves(type)) {
    SpreadRule rule = made(Spread::parts, sources_of(opcode), Type::b32);
    rule.result_bits = 16;
    return rule;
  }
  const bool low = is_plain(match) ? opcode == "add" || opcode == "sub" || opcode == "neg"
                                   : (opcode == "mul" || opcode == "mad") && match.has("lo");
  if (!low || !is_integer(type) || match.has("cc")) return {};
  SpreadRule rule = made(Spread::upward, sources_of(opcode), type);
  rule.cancels = opcode == "sub";
  return rule;
}

bool equality_unwritten(PartlyWritten a, PartlyWritten b) {
  const std::uint64_t unwritten = a.unwritten | b.unwritten;
  return unwritten != 0 && ((a.value ^ b.value) & ~unwritten) == 0;
}

std::uint64_t unwritten_result(const SpreadRule& rule, std::span<const PartlyWritten> sources,
                               std::int64_t immediate) {
  const std::uint64_t whole = low_bits(rule.result_bits);
  for (const PartlyWritten& steering : sources.subspan(rule.data))
    if (steering.unwritten != 0) return whole;
  const auto a = [&] { return sources[0].unwritten; };
  const auto b = [&] { return sources[1].unwritten; };
  const auto value = [&](std::size_t index) { return sources[index].value; };
  switch (rule.kind) {
    case Spread::copy:
      return a() & whole;
    case Spread::pack: {
      std::uint64_t result = 0;
      for (std::size_t i = 0; i < sources.size(); ++i)
        result |= (sources[i].unwritten & whole) << (i * rule.result_bits);
      return result;
    }
    case Spread::logic:
      return through_table(sources.first(rule.data),
                           rule.table != 0 ? rule.table : static_cast<std::uint8_t>(immediate)) &
             whole;
    case Spread::shift_left:
      return shifted_left(a(), value(1)) & whole;
    case Spread::shift_right: {
      const std::uint64_t amount = std::min<std::uint64_t>(value(1), 63);
      if (!rule.is_signed) return value(1) > 63 ? 0 : a() >> amount;
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(extended(a(), rule.bits, true)) >> amount) &
             whole;
    }
    case Spread::funnel_left:
    case Spread::funnel_right: {
      const std::uint64_t both = (a() & whole) | b() << 32;
      const std::uint64_t amount = rule.wraps ? value(2) & 31 : std::min<std::uint64_t>(value(2), 32);
      return (rule.kind == Spread::funnel_left ? both << amount >> 32 : both >> amount) & whole;
    }
    case Spread::permute:
      return permuted(a(), b(), value(2));
    case Spread::extract:
      if (value(1) > 255 || value(2) > 255) return whole;
      return field(a(), value(1), value(2), rule.bits, rule.is_signed);
    case Spread::insert:
      if (value(2) > 255 || value(3) > 255) return whole;
      return inserted(a(), b(), value(2), value(3), rule.bits);
    case Spread::convert:
      return extended(extended(a(), rule.bits, rule.is_signed), rule.result_bits, rule.result_signed);
    case Spread::upward: {
      std::uint64_t all = 0;
      for (const PartlyWritten& source : sources) all |= source.unwritten;
      return all == 0 ? 0 : ~low_bits(static_cast<unsigned>(std::countr_zero(all))) & whole;
    }
    case Spread::parts:
      return by_parts(sources, rule.bits, rule.result_bits);
    case Spread::join:
      return (a() != 0 ? 0xffff0000u : 0u) | (b() != 0 ? 0xffffu : 0u);
    default:
      return whole;
  }
}

}  // namespace gpuforge::sim
