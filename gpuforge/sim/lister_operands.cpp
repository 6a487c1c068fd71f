#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/block.h"
#include "gpuforge/sim/control.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/lister.h"
#include "gpuforge/sim/special_registers.h"

namespace gpuforge::sim {
namespace {

// Whether other threads may be meant to see this access, or are to be seen by it.
bool talks(const ptx::Instruction& instruction, const OpcodeRow& row) {
  constexpr std::array<std::string_view, 5> kStrong{"volatile", "relaxed", "acquire", "release", "mmio"};
  return row.op_class == OpClass::atomic ||
         std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(), [&](std::string_view one) {
           return std::find(kStrong.begin(), kStrong.end(), one) != kStrong.end();
         });
}

int wanted_bits(OperandType type, const Match& match) {
  switch (type) {
    case OperandType::type:
      return bits(match.type);
    case OperandType::other_type:
      return bits(match.other_type);
    case OperandType::wide:
      return 2 * bits(match.type);
    case OperandType::u16:
      return 16;
    case OperandType::u32:
      return 32;
    case OperandType::u64:
      return 64;
    case OperandType::b128:
      return 128;
    case OperandType::pred:
      return 1;
    case OperandType::any:
      break;
  }
  return 0;
}

Type wanted_type(OperandType type, const Match& match) {
  if (type == OperandType::other_type) return match.other_type;
  return match.type;
}

std::uint8_t row_bytes(int bits) {
  if (bits == 1) return 0;
  return static_cast<std::uint8_t>(bits <= 32 ? 4 : bits / 8);
}

bool is_float(Type type) {
  return type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::bf16 ||
         type == Type::tf32;
}

Space space_of(const ptx::Instruction& instruction) {
  for (const std::string_view word : instruction.modifiers) {
    if (word == "global") return Space::global;
    if (word == "shared" || word == "shared::cta") return Space::shared;
    if (word == "local") return Space::local;
    if (word == "const") return Space::constant;
    if (word == "param" || word == "param::entry" || word == "param::func") return Space::param;
  }
  return Space::generic;
}

}  // namespace

Value Lister::register_value(std::uint32_t number, std::uint8_t bits) {
  const auto [found, added] =
      dense_.try_emplace(number, static_cast<std::uint32_t>(listing_.registers.size()));
  if (added) listing_.registers.push_back(row_bytes(bits));
  return {Value::Kind::reg,
          row_bytes(bits),
          found->second,
          0,
          0,
          static_cast<std::uint8_t>(bits < 32 ? bits / 8 : 0)};
}

Value Lister::new_register(std::uint8_t bytes) {
  listing_.registers.push_back(bytes);
  return {Value::Kind::reg, bytes, static_cast<std::uint32_t>(listing_.registers.size() - 1), 0, 0};
}

void Lister::check_width(const Symbol& symbol, OperandType type, const Match& match, std::string_view name,
                         const ptx::Position& at) const {
  const int wanted = wanted_bits(type, match);
  const bool predicate_mismatch = (symbol.bits == 1) != (wanted == 1) && wanted != 0;
  if (predicate_mismatch)
    refuse(at, format_text("'{}' is {}, expected {}", name, symbol.bits == 1 ? "a predicate" : "a register",
                           wanted == 1 ? "a predicate" : "a register"));
  if (wanted == 0 || wanted == 1 || wanted == 8 || wanted == symbol.bits) return;
  refuse(at, format_text("'{}' has {} bits, this instruction expects {}", name, symbol.bits, wanted));
}

std::optional<Value> Lister::symbol_address(std::string_view name, std::int64_t offset, int bits,
                                            const ptx::Position& at) {
  Value value{Value::Kind::constant, row_bytes(bits == 0 ? 64 : bits), 0, 0, 0};
  const auto add = static_cast<std::uint64_t>(offset);
  if (const Symbol* symbol = names_.find(name)) {
    switch (symbol->kind) {
      case Symbol::Kind::shared:
      case Symbol::Kind::kernel_param:
        value.bits = symbol->number + add;
        break;
      case Symbol::Kind::local:
        value.kind = Value::Kind::special;
        value.id = static_cast<std::uint32_t>(SpecialRegister::local_address);
        value.bits = symbol->number + add;
        return value;
      case Symbol::Kind::function_param:
        // The parameter is copied to local memory when the function starts, and that has the address.
        value.kind = Value::Kind::special;
        value.id = static_cast<std::uint32_t>(SpecialRegister::local_address);
        value.bits = local_copy(*symbol, at) + add;
        return value;
      default:
        return std::nullopt;
    }
  } else if (const auto placed = builder_.program->variables.find(name);
             placed != builder_.program->variables.end()) {
    value.bits = placed->second.address + add;
  } else if (const auto shared = builder_.program->shared.find(name);
             shared != builder_.program->shared.end()) {
    value.bits = builder_.shared_offsets.at(shared->second) + add;
  } else if (const auto function = builder_.program->functions.find(name);
             function != builder_.program->functions.end()) {
    value.bits = kFunctionWindow + 16 * std::uint64_t{function->second} + add;
  } else {
    return std::nullopt;
  }
  if (value.bytes == 4) value.bits &= 0xffffffffu;
  return value;
}

std::uint32_t Lister::local_copy(const Symbol& param, const ptx::Position& at) {
  const auto is_formal = [&](const ptx::Variable& one) { return &one == param.variable; };
  const auto& formals = listing_.function->parameters;
  if (std::none_of(formals.begin(), formals.end(), is_formal))
    unsupported(at, "only a function's own parameters have an address");
  for (const LocalCopy& copy : listing_.copies)
    if (copy.from == param.number) return copy.to;
  const auto bytes = static_cast<std::uint32_t>(variable_bytes(module_, *param.variable));
  const auto alignment = static_cast<std::uint32_t>(variable_alignment(module_, *param.variable));
  const std::uint32_t to = (listing_.local_bytes + alignment - 1) / alignment * alignment;
  listing_.local_bytes = to + bytes;
  listing_.copies.push_back({param.number, to, bytes});
  return to;
}

Value Lister::constant(const ptx::Constant& constant, OperandType type, const Match& match,
                       const ptx::Position& at) {
  int width = wanted_bits(type, match);
  const Type wanted = wanted_type(type, match);
  if (type == OperandType::any) width = std::max(bits(match.type), 32);
  if (width == 1) return {Value::Kind::constant_mask, 0, 0, constant.bits != 0 ? kAllLanes : 0, 0};
  Value value{Value::Kind::constant, row_bytes(width), 0, constant.bits, 0};
  if (constant.kind == ptx::Constant::Kind::integer) {
    // PTX has no integer literals for floating-point operands; what is written is taken as bits of .b types
    // only.
    if (is_float(wanted) && (type == OperandType::type || type == OperandType::other_type))
      refuse(at, "a floating-point constant is expected here (0f3f800000 or 1.0)");
  } else if (constant.kind == ptx::Constant::Kind::f64 && width == 32) {
    value.bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(constant.bits)));
  } else if (constant.kind == ptx::Constant::Kind::f32 && width == 64) {
    const float narrow = std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits));
    value.bits = std::bit_cast<std::uint64_t>(static_cast<double>(narrow));
  } else if (width < 32) {
    refuse(at, "a floating-point constant does not fit this type");
  }
  if (width < 64) value.bits &= (std::uint64_t{1} << width) - 1;
  if (width == 128 && constant.kind == ptx::Constant::Kind::integer && (constant.bits >> 63) != 0 &&
      !constant.is_unsigned)
    value.high = ~std::uint64_t{0};
  return value;
}

Value Lister::named_source(std::string_view name, OperandType type, const Match& match,
                           const ptx::Position& at) {
  const Symbol* symbol = names_.find(name);
  if (symbol != nullptr && symbol->kind == Symbol::Kind::reg) {
    if (symbol->elements != 1) refuse(at, format_text("'{}' is a vector, expected one value", name));
    check_width(*symbol, type, match, name, at);
    return register_value(symbol->number, symbol->bits);
  }
  if (name.size() > 2 && name[name.size() - 2] == '.') {  // %v.x of a vector register
    const std::size_t element = std::string_view("xyzw").find(name.back());
    const Symbol* vector = names_.find(name.substr(0, name.size() - 2));
    if (vector != nullptr && vector->kind == Symbol::Kind::reg && element < vector->elements) {
      check_width(*vector, type, match, name, at);
      return register_value(vector->number + static_cast<std::uint32_t>(element), vector->bits);
    }
  }
  const int wanted = wanted_bits(type, match);
  if (const auto special = special_register(name)) {
    if (wanted == 1) refuse(at, format_text("'{}' is not a predicate", name));
    Value value{Value::Kind::special, special->bytes, static_cast<std::uint32_t>(special->which), 0, 0};
    if (wanted != 0) value.bytes = row_bytes(wanted);
    if (special->changes) {
      Line refresh;
      refresh.handlers = refresh_handlers();
      refresh.operand[0] = value;
      refresh.slots = 1;
      refresh.destinations = 1;
      refresh.label = value.id;
      refresh.register_bytes = value.bytes;
      refresh.site = static_cast<std::uint32_t>(builder_.image->sites.size() - 1);
      listing_.lines.push_back(refresh);
    }
    return value;
  }
  if (wanted == 1 && name == "%is_explicit_cluster")
    return {Value::Kind::constant_mask, 0, 0, kMaskOfCluster, 0};
  if (wanted == 1 && (name == "PT" || name == "%pt")) return {Value::Kind::constant_mask, 0, 0, kAllLanes, 0};
  if (const auto address = symbol_address(name, 0, wanted, at)) {
    if (wanted == 1) refuse(at, format_text("'{}' is an address, expected a predicate", name));
    return *address;
  }
  refuse(at, format_text("'{}' is not declared", name));
}

Value Lister::source(const ptx::Operand& operand, OperandType type, const Match& match,
                     const ptx::Position& at) {
  if (const auto* name = std::get_if<ptx::Name>(&operand.value))
    return named_source(name->text, type, match, at);
  if (const auto* number = std::get_if<ptx::Constant>(&operand.value))
    return constant(*number, type, match, at);
  const bool predicate = wanted_bits(type, match) == 1;
  if (const auto* sum = std::get_if<ptx::NamePlus>(&operand.value)) {
    if (predicate) refuse(at, format_text("'{}' is an address, expected a predicate", sum->text));
    if (const auto address = symbol_address(sum->text, sum->offset, wanted_bits(type, match), at))
      return *address;
    refuse(at, format_text("'{}' is not a variable", sum->text));
  }
  if (const auto* negated = std::get_if<ptx::Not>(&operand.value)) {
    if (!predicate) refuse(at, format_text("'!{}': only a predicate can be negated here", negated->text));
    const Value from = named_source(negated->text, OperandType::pred, match, at);
    Line negate;
    negate.handlers = negate_handlers();
    negate.operand[0] = new_register(0);
    negate.operand[1] = from;
    negate.slots = 2;
    negate.destinations = 1;
    negate.sources = 2;
    negate.site = static_cast<std::uint32_t>(builder_.image->sites.size() - 1);
    listing_.lines.push_back(negate);
    return listing_.lines.back().operand[0];
  }
  refuse(at, "expected a register or a constant");
}

Value Lister::destination(std::string_view name, OperandType type, const Match& match,
                          const ptx::Position& at) {
  const int wanted = wanted_bits(type, match);
  if (name == "_") {
    if (wanted == 1) return {Value::Kind::scratch_mask, 0, 0, 0, 0};
    return {Value::Kind::scratch, row_bytes(wanted == 0 ? 64 : wanted), 0, 0, 0};
  }
  const Value value = named_source(name, type, match, at);
  if (value.kind != Value::Kind::reg) refuse(at, format_text("'{}' cannot be written", name));
  return value;
}

Value Lister::predicate(std::string_view name, const ptx::Position& at) {
  return destination(name, OperandType::pred, {}, at);
}

void Lister::add_slot(Line& line, const Value& value, bool written, const ptx::Position& at) {
  if (line.slots >= line.operand.size())
    unsupported(at, "this instruction has more operands than are supported");
  const auto bit = static_cast<std::uint16_t>(1u << line.slots);
  if (written)
    line.destinations |= bit;
  else
    line.sources |= bit;
  line.operand[line.slots++] = value;
}

// `splits`: the elements are the parts of one value of the instruction's type (mov).
void Lister::vector(Line& line, const ptx::Operand& operand, OperandType type, const Match& whole,
                    bool written, bool splits, const ptx::Position& at) {
  std::vector<Value> parts;
  Match match = whole;
  const auto* elements = std::get_if<ptx::Vector>(&operand.value);
  if (splits && elements != nullptr) {
    const std::size_t count = elements->parts.size();
    const int each = count == 2 || count == 4 ? bits(whole.type) / static_cast<int>(count) : 0;
    if (each < 8) refuse(at, "mov packs and unpacks 2 or 4 elements of at least 8 bits");
    match.type = each == 8 ? Type::b8 : each == 16 ? Type::b16 : each == 32 ? Type::b32 : Type::b64;
    type = OperandType::type;
  }
  const auto one = [&](const ptx::Operand& part) {
    const auto* name = std::get_if<ptx::Name>(&part.value);
    if (name != nullptr && name->text == "_") return Value{Value::Kind::scratch, 0, 0, 0, 0};
    if (written) {
      if (name == nullptr) refuse(at, "expected registers to write");
      return destination(name->text, type, match, at);
    }
    return source(part, type, match, at);
  };
  if (elements != nullptr) {
    for (const ptx::Operand& part : elements->parts) parts.push_back(one(part));
  } else {
    const auto* name = std::get_if<ptx::Name>(&operand.value);
    const Symbol* symbol = name == nullptr ? nullptr : names_.find(name->text);
    if (symbol != nullptr && symbol->kind == Symbol::Kind::reg && symbol->elements > 1) {
      for (std::uint32_t element = 0; element < symbol->elements; ++element)
        parts.push_back(register_value(symbol->number + element, symbol->bits));
    } else if (splits) {
      refuse(at, "expected a vector, as in {%r1, %r2}");
    } else {
      parts.push_back(one(operand));
    }
  }
  if (parts.size() != 1 && parts.size() != 2 && parts.size() != 4 && parts.size() != 8)
    refuse(at, "a vector of 2, 4 or 8 elements is expected");
  std::uint8_t bytes = 0;  // that of the elements that have one; sinks and constants follow
  for (const Value& part : parts)
    if (part.kind == Value::Kind::reg) {
      if (bytes != 0 && bytes != part.bytes) refuse(at, "a vector's elements have one width");
      bytes = part.bytes;
    }
  if (bytes == 0) {
    const int width = wanted_bits(type, match);
    bytes = row_bytes(width != 0 ? width : std::max(32, bits(match.type)));
  }
  for (Value& part : parts) {
    part.bytes = bytes;
    add_slot(line, part, written, at);
  }
  line.count = static_cast<std::uint8_t>(parts.size());
}

void Lister::address(Line& line, const ptx::Address& address, const ptx::Instruction& instruction) {
  const ptx::Position& at = instruction.position;
  line.space = space_of(instruction);
  line.immediate = address.offset;
  if (address.base.empty()) return;
  const Symbol* symbol = names_.find(address.base);
  if (symbol != nullptr && symbol->kind == Symbol::Kind::function_param) {
    if (line.space != Space::param) unsupported(at, "a function's parameter is read with ld.param only");
    const std::size_t bytes = variable_bytes(module_, *symbol->variable);
    const std::uint64_t width =
        std::uint64_t{static_cast<unsigned>(bits(make_match(instruction.modifiers).type)) / 8} * line.count;
    if (address.offset < 0 || static_cast<std::uint64_t>(address.offset) + width > bytes)
      refuse(at, format_text("'{}' has {} bytes", address.base, bytes));
    line.space = Space::function_param;
    line.immediate += symbol->number;
    return;
  }
  if (symbol != nullptr && symbol->kind == Symbol::Kind::reg) {
    if (symbol->bits != 32 && symbol->bits != 64)
      refuse(at, format_text("'{}' has {} bits, an address has 32 or 64", address.base, symbol->bits));
    if (line.space == Space::param && !listing_.function->entry)
      unsupported(at, "indexing a function's parameters is not supported");
    line.address = register_value(symbol->number, symbol->bits);
    line.address_bytes = line.address.bytes;
    return;
  }
  const auto value = symbol_address(address.base, address.offset, 64, at);
  if (!value) refuse(at, format_text("'{}' is not declared", address.base));
  if (value->kind == Value::Kind::special) {
    line.address = *value;
    line.address_bytes = 8;
    line.immediate = 0;
  } else {
    const bool is_shared = (symbol != nullptr && symbol->kind == Symbol::Kind::shared) ||
                           (symbol == nullptr && builder_.program->shared.count(address.base) != 0);
    line.immediate = static_cast<std::int64_t>(value->bits);
    if (is_shared && line.space == Space::generic) line.space = Space::shared;
    if (symbol != nullptr && symbol->kind == Symbol::Kind::kernel_param && line.space != Space::param)
      refuse(at, format_text("'{}' is a kernel's parameter: ld.param reads it", address.base));
  }
}

// Of ld, st and atomics: as many elements as .vN says, each wide enough for the type.
void Lister::check_elements(const ptx::Instruction& instruction, std::size_t count, std::size_t bytes) const {
  std::size_t wanted = 1;
  for (const std::string_view word : instruction.modifiers)
    if (word == "v2" || word == "v4" || word == "v8") wanted = static_cast<std::size_t>(word[1] - '0');
  if (count != wanted)
    refuse(instruction.position, format_text("{} elements are expected, found {}", wanted, count));
  const auto type_bits = static_cast<std::size_t>(bits(make_match(instruction.modifiers).type));
  if (bytes * 8 < type_bits)
    refuse(instruction.position,
           format_text("registers of at least {} bits are expected, found {}", type_bits, bytes * 8));
}

void Lister::plain(const ptx::Instruction& instruction, const FoundRow& found, Line line) {
  const ptx::Position& at = instruction.position;
  const Match match = make_match(instruction.modifiers);
  line.handlers = found.handlers;
  std::size_t next = 0;
  bool first_data = true;
  bool first_source = true;
  const auto data = [&](const Value& value, bool written) {
    add_slot(line, value, written, at);
    const std::uint8_t width = value.width != 0 ? value.width : value.bytes;
    if (value.bytes != 0 && first_data) {
      line.register_bytes = width;
      first_data = false;
    }
    if (value.bytes != 0 && !written && first_source) {
      line.source_bytes = width;
      first_source = false;
    }
  };
  const ptx::Address* address_text = nullptr;
  for (const OperandSyntax& syntax : found.syntax->operands) {
    if (syntax.kind == OperandKind::carry) {
      add_slot(line, {Value::Kind::carry, 0, 0, 0, 0}, false, at);
      line.destinations |= static_cast<std::uint16_t>(1u << (line.slots - 1));
      continue;
    }
    if (next == instruction.operands.size()) {
      add_slot(line, {}, false, at);
      continue;
    }
    const ptx::Operand& operand = instruction.operands[next];
    const auto* pair = std::get_if<ptx::Pair>(&operand.value);
    const std::string_view first = pair != nullptr ? pair->first
                                   : std::holds_alternative<ptx::Name>(operand.value)
                                       ? std::get<ptx::Name>(operand.value).text
                                       : std::string_view{};
    const std::string_view second = pair != nullptr ? pair->second : std::string_view("_");
    switch (syntax.kind) {
      case OperandKind::destination:
        data(destination(first, syntax.type, match, at), true);
        break;
      case OperandKind::predicate:
        data(predicate(first, at), true);
        break;
      case OperandKind::predicate_pair:
        data(predicate(first, at), true);
        data(predicate(second, at), true);
        break;
      case OperandKind::destination_and_predicate:
        data(destination(first, syntax.type, match, at), true);
        data(predicate(second, at), true);
        break;
      case OperandKind::source:
        data(source(operand, syntax.type, match, at), false);
        break;
      case OperandKind::vector:
      case OperandKind::strict_vector: {
        const bool written = next == 0;
        const std::uint8_t before = line.slots;
        vector(line, operand, syntax.type, match, written, instruction.opcode == "mov", at);
        const Value& element = line.operand[before];
        const std::uint8_t bytes = element.width != 0 ? element.width : element.bytes;
        if (instruction.opcode != "mov")
          check_elements(instruction, static_cast<std::size_t>(line.slots - before), bytes);
        if (first_data) line.register_bytes = bytes;
        first_data = false;
        if (!written && first_source) line.source_bytes = bytes;
        if (!written) first_source = false;
        break;
      }
      case OperandKind::address_register: {
        const auto& address = std::get<ptx::Address>(operand.value);
        if (address.offset != 0)
          unsupported(
              at,
              format_text("the simulator takes the addresses of {} from registers alone, with nothing added",
                          instruction.opcode));
        data(named_source(address.base, syntax.type, match, at), false);
        break;
      }
      case OperandKind::address:
        address_text = &std::get<ptx::Address>(operand.value);
        break;
      case OperandKind::constant:
        line.immediate = static_cast<std::int64_t>(std::get<ptx::Constant>(operand.value).bits);
        break;
      case OperandKind::carry:
        break;
    }
    ++next;
  }
  if (instruction.opcode == "cvt" && found.syntax->operands.size() == 2 && first_source == false) {
    const auto narrower = [&](std::size_t bytes, Type type) {
      return bytes * 8 < static_cast<std::size_t>(bits(type));
    };
    if (narrower(line.register_bytes, match.other_type) || narrower(line.source_bytes, match.type))
      refuse(at, "a register of this cvt is narrower than its type");
  }
  const bool has_data = std::any_of(found.syntax->operands.begin(), found.syntax->operands.end(),
                                    [](const OperandSyntax& one) { return one.type == OperandType::any; });
  if (address_text != nullptr && has_data) check_elements(instruction, line.count, line.register_bytes);
  Site& site = builder_.image->sites[line.site];
  site.spread = spread_rule(instruction.opcode, match);
  if (line.count > 1 && site.spread.kind == Spread::copy) {
    site.spread.kind = line.destinations == 1 ? Spread::pack : Spread::unpack;
    site.spread.data = site.spread.kind == Spread::pack ? line.count : 1;
    site.spread.result_bits = static_cast<std::uint8_t>(site.spread.bits / line.count);
  }
  const bool copies = instruction.opcode == "cp" && site.op_class == OpClass::load;
  site.touches_memory = copies;
  if (copies) site.space = Space::global;
  if (address_text != nullptr) {
    address(line, *address_text, instruction);
    site.touches_memory = true;
    site.space = line.space;
    const bool shared_by_threads =
        line.space == Space::global || line.space == Space::shared || line.space == Space::generic;
    if (lanes_part_ && shared_by_threads && talks(instruction, *found.row)) {
      Line part;
      part.handlers = part_handlers();
      part.site = line.site;
      listing_.lines.push_back(part);
    }
  }
  append(std::move(line));
}

}  // namespace gpuforge::sim
