#include "gpuforge/ptx/printer.h"

#include <span>

#include "gpuforge/base/format.h"

namespace gpuforge::ptx {
namespace {

std::string_view space_word(Space space) {
  switch (space) {
    case Space::none:
      return "";
    case Space::reg:
      return ".reg";
    case Space::param:
      return ".param";
    case Space::local:
      return ".local";
    case Space::shared:
      return ".shared";
    case Space::global:
      return ".global";
    case Space::constant:
      return ".const";
    case Space::tex:
      return ".tex";
  }
  return "";
}

std::string_view linkage_word(Linkage linkage) {
  switch (linkage) {
    case Linkage::none:
      return "";
    case Linkage::visible:
      return ".visible ";
    case Linkage::external:
      return ".extern ";
    case Linkage::weak:
      return ".weak ";
    case Linkage::common:
      return ".common ";
  }
  return "";
}

// Writes with one growing string; each function below prints one kind of node.
class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void module(const Module& module) {
    add(".version {}.{}\n.target ", module.version_major, module.version_minor);
    words(module.targets);
    add("\n.address_size {}\n", module.address_size);
    module_ = &module;
    for (const File& file : module.files) add(".file {} \"{}\"\n", file.number, file.name);
    for (const Directive& item : module.directives) directive(item, "");
    for (const Variable& item : module.variables) declaration(item, "");
    for (const Function& item : module.functions) function(item);
    if (module.debug_strings.empty()) return;
    out_ += ".section .debug_str\n{\n";
    for (const DebugString& item : module.debug_strings) {
      add("{}:\n", item.label);
      for (std::size_t i = 0; i < item.bytes.size(); ++i)
        add("{}{}", i == 0 ? ".b8 " : ",", int{static_cast<unsigned char>(item.bytes[i])});
      out_ += item.bytes.empty() ? "" : "\n";
    }
    out_ += "}\n";
  }

  void instruction(const Instruction& instruction) {
    if (!instruction.guard.predicate.empty())
      add("@{}{} ", instruction.guard.negated ? "!" : "", instruction.guard.predicate);
    out_ += instruction.opcode;
    for (const std::string_view word : instruction.modifiers) add(".{}", word);
    if (!instruction.operands.empty()) out_ += ' ';
    operands(instruction.operands);
    out_ += ';';
  }

 private:
  template <typename... Args>
  void add(std::string_view pattern, const Args&... args) {
    out_ += format_text(pattern, args...);
  }

  void words(std::span<const std::string_view> list) {
    for (std::size_t i = 0; i < list.size(); ++i) add("{}{}", i == 0 ? "" : ", ", list[i]);
  }

  void directive(const Directive& directive, std::string_view indent) {
    add("{}.{}", indent, directive.name);
    for (std::size_t i = 0; i < directive.words.size(); ++i)
      add("{}{}", i == 0 ? " " : ", ", directive.words[i]);
    out_ += ";\n";
  }

  void constant(const Constant& constant) {
    switch (constant.kind) {
      case Constant::Kind::integer:
        if (constant.is_unsigned) {
          add("{}U", constant.bits);
        } else if (static_cast<std::int64_t>(constant.bits) < 0) {
          add("-{}", 0 - constant.bits);
        } else {
          add("{}", constant.bits);
        }
        break;
      case Constant::Kind::f32:
        add("0f{:08X}", constant.bits);
        break;
      case Constant::Kind::f64:
        add("0d{:016X}", constant.bits);
        break;
    }
  }

  void offset(std::int64_t offset) {
    if (offset > 0) add("+{}", offset);
    if (offset < 0) add("-{}", 0 - static_cast<std::uint64_t>(offset));
  }

  void operands(std::span<const Operand> list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ", ";
      operand(list[i]);
    }
  }

  void operand(const Operand& operand) {
    std::visit([this](const auto& value) { print(value); }, operand.value);
  }
  void print(const Name& name) { out_ += name.text; }
  void print(const Constant& value) { constant(value); }
  void print(const NamePlus& name) {
    out_ += name.text;
    if (name.offset == 0) out_ += "+0";
    offset(name.offset);
  }
  void inner_address(const Address& address) {
    if (address.base.empty()) {
      add("{}", address.offset);
    } else {
      out_ += address.base;
      offset(address.offset);
    }
  }
  void print(const Address& address) {
    out_ += '[';
    inner_address(address);
    out_ += ']';
  }
  void print(const AddressList& list) {
    out_ += '[';
    inner_address(std::get<Address>(list.parts.front().value));
    for (const Operand& part : std::span(list.parts).subspan(1)) {
      out_ += ", ";
      operand(part);
    }
    out_ += ']';
  }
  void print(const Vector& vector) {
    out_ += '{';
    operands(vector.parts);
    out_ += '}';
  }
  void print(const Pair& pair) { add("{}|{}", pair.first, pair.second); }
  void print(const Not& negated) { add("!{}", negated.text); }
  void print(const List& list) {
    out_ += '(';
    operands(list.parts);
    out_ += ')';
  }

  void initializer(const Initializer& initializer) {
    if (const auto* value = std::get_if<Constant>(&initializer.value)) return constant(*value);
    if (const auto* parts = std::get_if<std::vector<Initializer>>(&initializer.value)) {
      out_ += '{';
      for (std::size_t i = 0; i < parts->size(); ++i) {
        if (i != 0) out_ += ", ";
        this->initializer((*parts)[i]);
      }
      out_ += '}';
      return;
    }
    const auto& symbol = std::get<SymbolValue>(initializer.value);
    if (symbol.mask != 0) add("0x{:x}(", symbol.mask);
    add(symbol.generic ? "generic({})" : "{}", symbol.symbol);
    offset(symbol.offset);
    if (symbol.mask != 0) out_ += ')';
  }

  void variable(const Variable& variable) {
    add("{}{}", linkage_word(variable.linkage), space_word(variable.space));
    if (!variable.attributes.empty()) {
      out_ += " .attribute(";
      for (std::size_t i = 0; i < variable.attributes.size(); ++i)
        add("{}.{}", i == 0 ? "" : ", ", variable.attributes[i]);
      out_ += ')';
    }
    if (variable.alignment != 0) add(" .align {}", variable.alignment);
    if (variable.vector_width != 1) add(" .v{}", static_cast<int>(variable.vector_width));
    add(" .{}", variable.type);
    if (variable.pointer) {
      add(" .ptr {}", space_word(variable.pointer_space));
      if (variable.pointer_alignment != 0) add(" .align {}", variable.pointer_alignment);
    }
    add(" {}", variable.name);
    if (variable.has_range) add("<{}>", variable.range);
    for (const std::int64_t extent : variable.extents) {
      if (extent < 0) {
        out_ += "[]";
      } else {
        add("[{}]", extent);
      }
    }
    if (!variable.initializer.empty()) {
      out_ += " = ";
      initializer(variable.initializer.front());
    }
  }

  void declaration(const Variable& item, std::string_view indent) {
    out_ += indent;
    variable(item);
    out_ += ";\n";
  }

  void parameters(std::span<const Variable> list) {
    out_ += '(';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ", ";
      variable(list[i]);
    }
    out_ += ')';
  }

  void function(const Function& function) {
    add("{}{} ", linkage_word(function.linkage), function.entry ? ".entry" : ".func");
    if (!function.results.empty()) {
      parameters(function.results);
      out_ += ' ';
    }
    out_ += function.name;
    parameters(function.parameters);
    for (const Directive& item : function.directives) {
      add("\n.{} ", item.name);
      words(item.words);
      if (item.name == "pragma") out_ += ';';
    }
    if (function.body == nullptr) {
      out_ += ";\n";
      return;
    }
    out_ += '\n';
    line_ = {};
    block(*function.body, "");
  }

  void block(const Block& block, const std::string& indent) {
    add("{}{{\n", indent);
    const std::string inner = indent + "  ";
    for (const Statement& statement : block.statements)
      std::visit([&](const auto& item) { this->statement(item, inner); }, statement);
    add("{}}}\n", indent);
  }

  void statement(const Instruction& item, const std::string& indent) {
    if (!(item.source == line_)) {
      line_ = item.source;
      location(item.source, indent);
    }
    out_ += indent;
    instruction(item);
    out_ += '\n';
  }
  // After the lines of the calls, from the outermost: they say which call is meant.
  void location(const SourceLine& line, const std::string& indent) {
    if (line.inlining == 0 || module_ == nullptr) {
      add("{}.loc {} {} {}\n", indent, line.file, line.line, line.column);
      return;
    }
    const Inlining& inlining = module_->inlinings[line.inlining - 1];
    location(inlining.call, indent);
    add("{}.loc {} {} {}, function_name {}", indent, line.file, line.line, line.column, inlining.function);
    if (inlining.function_offset != 0) add("+{}", inlining.function_offset);
    add(", inlined_at {} {} {}\n", inlining.call.file, inlining.call.line, inlining.call.column);
  }
  void statement(const Label& item, const std::string&) { add("{}:\n", item.name); }
  void statement(const Variable& item, const std::string& indent) { declaration(item, indent); }
  void statement(const Directive& item, const std::string& indent) { directive(item, indent); }
  void statement(const Prototype& item, const std::string& indent) {
    add("{}{}: .callprototype ", indent, item.name);
    if (!item.results.empty()) parameters(item.results);
    out_ += " _ ";
    parameters(item.parameters);
    add("{};\n", item.noreturn ? " .noreturn" : "");
  }
  void statement(const Targets& item, const std::string& indent) {
    add("{}{}: .{} ", indent, item.name, item.calls ? "calltargets" : "branchtargets");
    words(item.targets);
    out_ += ";\n";
  }
  void statement(const std::unique_ptr<Block>& item, const std::string& indent) { block(*item, indent); }

  std::string& out_;
  const Module* module_ = nullptr;
  SourceLine line_;
};

}  // namespace

std::string print(const Module& module) {
  std::string out;
  Printer(out).module(module);
  return out;
}

std::string print(const Instruction& instruction) {
  std::string out;
  Printer(out).instruction(instruction);
  return out;
}

}  // namespace gpuforge::ptx
