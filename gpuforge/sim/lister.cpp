#include "gpuforge/sim/lister.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/control.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint64_t kMaxStackAlignment = 1u << 23;
constexpr std::uint32_t kMaxParamBytes = 64 * 1024;

std::uint32_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return static_cast<std::uint32_t>((value + alignment - 1) / alignment * alignment);
}

Builtin builtin_named(std::string_view name) {
  if (name == "vprintf") return Builtin::vprintf;
  if (name == "__assertfail") return Builtin::assertfail;
  return Builtin::none;
}

bool has(const ptx::Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) !=
         instruction.modifiers.end();
}

bool lanes_part(const ptx::Module& module) {
  for (const std::string_view target : module.targets) {
    int number = 0;
    if (target.starts_with("sm_") &&
        std::from_chars(target.data() + 3, target.data() + target.size(), number).ec == std::errc{})
      return number >= 70;
  }
  return false;
}

}  // namespace

Lister::Lister(ImageBuilder& builder, RowFinder& rows, const ptx::Function& function)
    : builder_(builder), rows_(rows), module_(builder.program->module), lanes_part_(lanes_part(module_)) {
  listing_.function = &function;
}

void Lister::refuse(const ptx::Position& at, std::string_view message) const {
  stop(ErrorCode::parse, at, message);
}

void Lister::unsupported(const ptx::Position& at, std::string_view message) const {
  stop(ErrorCode::unsupported, at, message);
}

// By the line of the program that the PTX was made from, where that is known.
void Lister::stop(ErrorCode code, const ptx::Position& at, std::string_view message) const {
  const auto file = std::find_if(module_.files.begin(), module_.files.end(),
                                 [&](const ptx::File& known) { return known.number == source_.file; });
  if (source_.line == 0 || file == module_.files.end()) fail(code, module_, at, message);
  throw Error(code,
              format_text("{}:{}: {} (line {} of its PTX)", file->name, source_.line, message, at.line));
}

Listing Lister::run() {
  names_.open();
  formals();
  block(*listing_.function->body);
  names_.close();
  // Falling off the end is a return.
  Line end;
  end.flow = Flow::leave;
  end.handlers = listing_.function->entry ? exit_handlers() : return_handlers();
  end.site = listing_.lines.empty() ? 0 : listing_.lines.back().site;
  keep_results(end);
  listing_.lines.push_back(end);
  return std::move(listing_);
}

// Results that leave in registers are read by the return.
void Lister::keep_results(Line& line) {
  for (const ListedPassed& result : listing_.results)
    if (result.in_row) add_slot(line, result.value, false, listing_.function->position);
}

void Lister::formals() {
  const ptx::Function& function = *listing_.function;
  std::uint32_t top = 0;
  const auto declare_formal = [&](const ptx::Variable& variable, std::vector<ListedPassed>* list) {
    ListedPassed passed;
    if (variable.space == ptx::Space::reg) {
      declare(variable);
      passed.in_row = true;
      passed.value = named_source(variable.name, OperandType::any, {}, variable.position);
      passed.bytes = passed.value.bytes;
    } else {
      const std::size_t bytes = variable_bytes(module_, variable);
      const std::size_t alignment = variable_alignment(module_, variable);
      if (bytes > kMaxParamBytes) refuse(variable.position, "parameters of at most 64 KB are expected");
      passed.offset = aligned(top, alignment);
      passed.bytes = static_cast<std::uint32_t>(bytes);
      top = passed.offset + passed.bytes;
      if (top > kMaxParamBytes) refuse(variable.position, "parameters of at most 64 KB are expected");
      Symbol symbol;
      symbol.kind = function.entry ? Symbol::Kind::kernel_param : Symbol::Kind::function_param;
      symbol.number = passed.offset;
      symbol.variable = &variable;
      if (!names_.declare(variable.name, symbol)) refuse(variable.position, "this name is declared twice");
    }
    list->push_back(passed);
  };
  for (const ptx::Variable& parameter : function.parameters) declare_formal(parameter, &listing_.parameters);
  if (function.entry) {
    builder_.image->param_bytes = top;
    top = 0;
  }
  for (const ptx::Variable& result : function.results) declare_formal(result, &listing_.results);
  param_top_ = aligned(top, 16);
  listing_.param_bytes = param_top_;
}

void Lister::declare_ahead(const ptx::Block& block) {
  for (const ptx::Statement& statement : block.statements) {
    Symbol symbol;
    std::string_view name;
    ptx::Position at;
    if (const auto* label = std::get_if<ptx::Label>(&statement)) {
      symbol.kind = Symbol::Kind::label;
      symbol.number = new_label();
      name = label->name;
      at = label->position;
    } else if (const auto* targets = std::get_if<ptx::Targets>(&statement)) {
      symbol.kind = Symbol::Kind::targets;
      symbol.targets = targets;
      name = targets->name;
      at = targets->position;
    } else if (const auto* prototype = std::get_if<ptx::Prototype>(&statement)) {
      symbol.kind = Symbol::Kind::prototype;
      name = prototype->name;
      at = prototype->position;
    } else {
      continue;
    }
    if (!names_.declare(name, symbol)) refuse(at, format_text("'{}' is declared twice in this block", name));
  }
}

void Lister::block(const ptx::Block& block) {
  names_.open();
  const std::uint32_t param_top = param_top_;
  declare_ahead(block);
  for (const ptx::Statement& statement : block.statements) {
    if (const auto* one = std::get_if<ptx::Instruction>(&statement)) {
      instruction(*one);
    } else if (const auto* label = std::get_if<ptx::Label>(&statement)) {
      place_label(names_.find(label->name)->number);
    } else if (const auto* variable = std::get_if<ptx::Variable>(&statement)) {
      declare(*variable);
    } else if (const auto* inner = std::get_if<std::unique_ptr<ptx::Block>>(&statement)) {
      this->block(**inner);
    }
  }
  param_top_ = param_top;
  names_.close();
}

void Lister::declare(const ptx::Variable& variable) {
  Symbol symbol;
  symbol.variable = &variable;
  switch (variable.space) {
    case ptx::Space::reg: {
      const Type type = type_named(variable.type);
      if (type == Type::none) refuse(variable.position, format_text("unknown type .{}", variable.type));
      symbol.bits = static_cast<std::uint8_t>(bits(type));
      symbol.elements = variable.vector_width;
      symbol.number = declared_;
      symbol.kind = variable.has_range ? Symbol::Kind::range : Symbol::Kind::reg;
      symbol.range = variable.range;
      if (variable.has_range && variable.vector_width > 1)
        unsupported(variable.position, "ranges of vector registers are not supported");
      const std::uint64_t next =
          std::uint64_t{declared_} + (variable.has_range ? variable.range : variable.vector_width);
      if (next > 0xffff0000u) refuse(variable.position, "fewer than 2^32 registers are expected");
      declared_ = static_cast<std::uint32_t>(next);
      break;
    }
    case ptx::Space::param:
    case ptx::Space::local: {
      const std::size_t bytes = variable_bytes(module_, variable);
      const bool param = variable.space == ptx::Space::param;
      const std::uint32_t limit = param ? kMaxParamBytes : kMaxLocalBytes;
      std::uint32_t& top = param ? param_top_ : listing_.local_bytes;
      if (bytes > limit || top > limit)
        refuse(variable.position, format_text("at most {} bytes are expected", limit));
      symbol.kind = param ? Symbol::Kind::function_param : Symbol::Kind::local;
      symbol.number = aligned(top, variable_alignment(module_, variable));
      top = symbol.number + static_cast<std::uint32_t>(bytes);
      if (param) listing_.param_bytes = std::max(listing_.param_bytes, aligned(top, 16));
      break;
    }
    case ptx::Space::shared:
      symbol.kind = Symbol::Kind::shared;
      symbol.number = builder_.shared_offsets.at(&variable);
      break;
    default:
      unsupported(variable.position, "variables of this space inside a function are not supported");
  }
  if (!names_.declare(variable.name, symbol))
    refuse(variable.position, format_text("'{}' is declared twice in this block", variable.name));
}

std::uint32_t Lister::new_label() {
  listing_.labels.push_back(kNoLabel);
  return static_cast<std::uint32_t>(listing_.labels.size() - 1);
}

void Lister::place_label(std::uint32_t label) {
  listing_.labels[label] = static_cast<std::uint32_t>(listing_.lines.size());
}

std::uint32_t Lister::add_site(const ptx::Instruction& instruction, const OpcodeRow& row) {
  Site site;
  site.position = instruction.position;
  site.source = instruction.source;
  const std::string& text = *module_.text;
  const char* const begin = instruction.opcode.data();
  const auto left = static_cast<std::size_t>(text.data() + text.size() - begin);
  const auto* end = static_cast<const char*>(std::memchr(begin, ';', left));
  site.text = {begin, end == nullptr ? left : static_cast<std::size_t>(end - begin)};
  site.op_class = row.op_class;
  builder_.image->sites.push_back(site);
  return static_cast<std::uint32_t>(builder_.image->sites.size() - 1);
}

// A guarded line that may wait or end lanes becomes a branch around it.
void Lister::append(Line line) {
  if (line.guard.kind == Value::Kind::none || !line.blocks) {
    listing_.lines.push_back(std::move(line));
    return;
  }
  Line around;
  around.flow = Flow::branch;
  around.handlers = branch_handlers();
  around.guard = line.guard;
  around.guard_negated = !line.guard_negated;
  around.label = new_label();
  around.site = line.site;
  const std::uint32_t label = around.label;
  listing_.lines.push_back(std::move(around));
  line.guard = {};
  listing_.lines.push_back(std::move(line));
  place_label(label);
}

void Lister::instruction(const ptx::Instruction& instruction) {
  source_ = instruction.source;
  std::string why;
  const FoundRow* found = rows_.find(instruction, &why);
  if (found == nullptr) unsupported(instruction.position, why);
  Line line;
  line.row = found->row;
  line.site = add_site(instruction, *found->row);
  const OpClass op_class = found->row->op_class;
  line.blocks = op_class == OpClass::control || op_class == OpClass::warp || op_class == OpClass::barrier;
  if (!instruction.guard.predicate.empty()) {
    line.guard = named_source(instruction.guard.predicate, OperandType::pred, {}, instruction.position);
    line.guard_negated = instruction.guard.negated;
  }
  if (instruction.opcode == "alloca") stack_memory(instruction);
  if (found->row->bind != nullptr) return plain(instruction, *found, std::move(line));
  if (instruction.opcode == "bra") return branch(instruction, std::move(line));
  if (instruction.opcode == "brx") return branch_table(instruction, std::move(line));
  if (instruction.opcode == "call") return call(instruction, std::move(line));
  if (instruction.opcode == "ret" || instruction.opcode == "exit") {
    line.flow = Flow::leave;
    const bool exits = instruction.opcode == "exit" || listing_.function->entry;
    line.handlers = exits ? exit_handlers() : return_handlers();
    if (!exits) keep_results(line);
    return append(std::move(line));
  }
  unsupported(instruction.position, format_text("the simulator does not know {}", instruction.opcode));
}

void Lister::stack_memory(const ptx::Instruction& instruction) {
  builder_.image->uses_stack = true;
  if (instruction.operands.size() < 3) return;
  const std::uint64_t alignment = std::get<ptx::Constant>(instruction.operands[2].value).bits;
  if (!std::has_single_bit(alignment) || alignment > kMaxStackAlignment)
    refuse(instruction.position,
           format_text("alloca expects an alignment that is a power of two up to {}, found {}",
                       kMaxStackAlignment, alignment));
}

void Lister::branch(const ptx::Instruction& instruction, Line line) {
  const auto* name =
      instruction.operands.size() == 1 ? std::get_if<ptx::Name>(&instruction.operands[0].value) : nullptr;
  if (name == nullptr) refuse(instruction.position, "bra expects one label");
  const Symbol* symbol = names_.find(name->text);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::label)
    refuse(instruction.position, format_text("there is no label '{}' here", name->text));
  line.flow = Flow::branch;
  line.label = symbol->number;
  line.handlers = branch_handlers();
  line.blocks = false;  // it reads its guard itself
  append(std::move(line));
}

void Lister::branch_table(const ptx::Instruction& instruction, Line line) {
  if (!has(instruction, "idx") || instruction.operands.size() != 2)
    refuse(instruction.position, "expected brx.idx index, targets");
  const auto* list = std::get_if<ptx::Name>(&instruction.operands[1].value);
  const Symbol* symbol = list == nullptr ? nullptr : names_.find(list->text);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::targets || symbol->targets->calls)
    refuse(instruction.position, "brx.idx expects the label of a .branchtargets list");
  std::vector<std::uint32_t> labels;
  for (const std::string_view target : symbol->targets->targets) {
    const Symbol* label = names_.find(target);
    if (label == nullptr || label->kind != Symbol::Kind::label)
      refuse(instruction.position, format_text("there is no label '{}' here", target));
    labels.push_back(label->number);
  }
  add_slot(line, source(instruction.operands[0], OperandType::u32, {}, instruction.position), false,
           instruction.position);
  line.flow = Flow::table;
  line.handlers = table_handlers();
  line.label = static_cast<std::uint32_t>(listing_.tables.size());
  listing_.tables.push_back(std::move(labels));
  append(std::move(line));
}

std::vector<ListedPassed> Lister::passed(const ptx::Instruction& instruction, const ptx::List& list,
                                         bool results) {
  std::vector<ListedPassed> all;
  for (const ptx::Operand& operand : list.parts) {
    ListedPassed one;
    const auto* name = std::get_if<ptx::Name>(&operand.value);
    const Symbol* symbol = name == nullptr ? nullptr : names_.find(name->text);
    if (symbol != nullptr && symbol->kind == Symbol::Kind::function_param) {
      one.offset = symbol->number;
      one.bytes = static_cast<std::uint32_t>(variable_bytes(module_, *symbol->variable));
    } else {
      one.in_row = true;
      if (results && symbol == nullptr)
        refuse(instruction.position, "a call's result is a .param or a register");
      one.value = results ? register_value(symbol->number, symbol->bits)
                          : source(operand, OperandType::any, {}, instruction.position);
      one.bytes = one.value.bytes;
    }
    all.push_back(one);
  }
  return all;
}

void Lister::call(const ptx::Instruction& instruction, Line line) {
  ListedCall call;
  std::size_t next = 0;
  const auto list_at = [&](std::size_t index) {
    return index < instruction.operands.size() ? std::get_if<ptx::List>(&instruction.operands[index].value)
                                               : nullptr;
  };
  if (const ptx::List* results = list_at(next)) {
    call.results = passed(instruction, *results, true);
    ++next;
  }
  const auto* target = next < instruction.operands.size()
                           ? std::get_if<ptx::Name>(&instruction.operands[next].value)
                           : nullptr;
  if (target == nullptr) refuse(instruction.position, "call expects a function");
  ++next;
  if (const ptx::List* arguments = list_at(next)) call.arguments = passed(instruction, *arguments, false);
  const Symbol* symbol = names_.find(target->text);
  if (symbol != nullptr && symbol->kind == Symbol::Kind::reg) {
    call.target = named_source(target->text, OperandType::u64, {}, instruction.position);
    add_slot(line, call.target, false, instruction.position);
  } else {
    const auto function = builder_.program->functions.find(target->text);
    if (function == builder_.program->functions.end())
      refuse(instruction.position, format_text("there is no function '{}'", target->text));
    const auto code = builder_.codes.find(function->second);
    if (code != builder_.codes.end()) {
      call.callee = code->second;
    } else {
      call.builtin = builtin_named(target->text);
      if (call.builtin == Builtin::none)
        unsupported(
            instruction.position,
            format_text("'{}' is declared but not defined here, and the simulator has none", target->text));
    }
  }
  const auto mark_rows = [&](const std::vector<ListedPassed>& list, bool written) {
    for (const ListedPassed& one : list)
      if (one.in_row) add_slot(line, one.value, written, instruction.position);
  };
  mark_rows(call.arguments, false);
  mark_rows(call.results, true);
  line.flow = Flow::call;
  line.handlers = call_handlers();
  line.call = static_cast<std::uint32_t>(listing_.calls.size());
  listing_.calls.push_back(std::move(call));
  append(std::move(line));
}

Listing list_function(ImageBuilder& builder, RowFinder& rows, const ptx::Function& function) {
  return Lister(builder, rows, function).run();
}

}  // namespace gpuforge::sim
