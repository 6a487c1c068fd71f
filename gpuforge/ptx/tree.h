// PTX as a tree of values: what the text says, nothing about what it does. Names are views into the text,
// which the Module owns, so a tree is cheap to make and must not outlive its Module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuforge::ptx {

struct Position {
  std::uint32_t line = 0;    // of the PTX text, from 1
  std::uint32_t column = 0;  // from 1
};

// .loc: a line of the program PTX was made from. Inlined code keeps its own line, and knows its call.
struct SourceLine {
  std::uint32_t file = 0;  // a number declared by .file
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t inlining = 0;  // of Module::inlinings, counted from 1; 0: not inlined
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

// .loc ..., function_name LABEL+OFFSET, inlined_at FILE LINE COLUMN: the call of a function that was inlined.
// The line of the call may be inlined itself; the text does not say so there, but the .loc before it does.
struct Inlining {
  std::string_view function;  // a label in .debug_str
  std::uint32_t function_offset = 0;
  SourceLine call;
  friend bool operator==(const Inlining&, const Inlining&) = default;
};

// One constant of an expression-free form; the text keeps how it was written.
struct Constant {
  enum class Kind : std::uint8_t { integer, f32, f64 };
  Kind kind = Kind::integer;
  bool is_unsigned = false;  // 42U
  std::uint64_t bits = 0;    // the integer's, or the float's own 32 or 64 bits
  friend bool operator==(const Constant&, const Constant&) = default;
};

struct Operand;

struct Name {  // register, label, variable, function, special register (with its .x)
  std::string_view text;
  friend bool operator==(const Name&, const Name&) = default;
};
struct NamePlus {  // variable+8
  std::string_view text;
  std::int64_t offset = 0;
  friend bool operator==(const NamePlus&, const NamePlus&) = default;
};
struct Address {  // [base+offset]; base empty for an immediate address
  std::string_view base;
  std::int64_t offset = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
struct AddressList {  // [tensor_map, {x, y}] and other bracketed lists of later instructions
  std::vector<Operand> parts;
  friend bool operator==(const AddressList&, const AddressList&) = default;
};
struct Vector {  // {a, b, c, d}
  std::vector<Operand> parts;
  friend bool operator==(const Vector&, const Vector&) = default;
};
struct Pair {  // p|q, d|p
  std::string_view first;
  std::string_view second;
  friend bool operator==(const Pair&, const Pair&) = default;
};
struct Not {  // !p
  std::string_view text;
  friend bool operator==(const Not&, const Not&) = default;
};
struct List {  // (a, b): a call's arguments or results
  std::vector<Operand> parts;
  friend bool operator==(const List&, const List&) = default;
};

struct Operand {
  std::variant<Name, Constant, NamePlus, Address, AddressList, Vector, Pair, Not, List> value;
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Guard {  // @p or @!p; empty: always
  std::string_view predicate;
  bool negated = false;
  friend bool operator==(const Guard&, const Guard&) = default;
};

struct Instruction {
  Guard guard;
  std::string_view opcode;                  // "ld"
  std::vector<std::string_view> modifiers;  // "global", "v4", "f32"
  std::vector<Operand> operands;
  Position position;
  SourceLine source;
};

enum class Space : std::uint8_t { none, reg, param, local, shared, global, constant, tex };
enum class Linkage : std::uint8_t { none, visible, external, weak, common };

// A piece of an initialiser: a constant, an address of a symbol (generic() or not), or part of one
// (0xff(sym)).
struct Initializer;
struct SymbolValue {
  std::string_view symbol;
  std::int64_t offset = 0;
  bool generic = false;
  std::uint64_t mask = 0;  // 0: whole; else the byte chosen by mask(symbol)
  friend bool operator==(const SymbolValue&, const SymbolValue&) = default;
};
struct Initializer {
  std::variant<Constant, SymbolValue, std::vector<Initializer>> value;
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

struct Variable {
  Linkage linkage = Linkage::none;
  Space space = Space::none;
  std::uint32_t alignment = 0;    // 0: natural
  std::uint8_t vector_width = 1;  // .v2, .v4
  std::string_view type;          // "u64", "b8", "pred", "texref"
  std::string_view name;
  bool has_range = false;  // %r<17>: 17 registers %r0..%r16
  std::uint32_t range = 0;
  std::vector<std::int64_t> extents;  // [2][3]; -1 for []
  bool pointer = false;               // .param .u64 .ptr ...
  Space pointer_space = Space::none;
  std::uint32_t pointer_alignment = 0;
  std::vector<std::string_view> attributes;  // .attribute(.managed, ...), as written
  std::vector<Initializer> initializer;      // at most one
  Position position;
};

struct Block;

struct Label {
  std::string_view name;
  Position position;
};
struct Directive {        // .pragma "nounroll"; .branchtargets and .callprototype with a label, as words
  std::string_view name;  // "pragma"
  std::vector<std::string_view> words;  // its operands as written, strings with their quotes
  Position position;
};
// name: .callprototype (.param .b32 _) _ (.param .b64 _);
struct Prototype {
  std::string_view name;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  bool noreturn = false;
  Position position;
};
// name: .branchtargets a, b, c;  name: .calltargets f, g;
struct Targets {
  std::string_view name;
  bool calls = false;
  std::vector<std::string_view> targets;
  Position position;
};

using Statement =
    std::variant<Instruction, Label, Variable, Directive, Prototype, Targets, std::unique_ptr<Block>>;

struct Block {
  std::vector<Statement> statements;
  Position position;
};

struct Function {
  bool entry = false;
  Linkage linkage = Linkage::none;
  std::string_view name;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  std::vector<Directive> directives;  // .maxntid 256, .reqntid, .minnctapersm, .noreturn, ...
  std::unique_ptr<Block> body;        // none: a declaration
  Position position;
};

struct File {  // .file 1 "saxpy.cu"
  std::uint32_t number = 0;
  std::string_view name;
};

struct DebugString {  // of .section .debug_str
  std::string_view label;
  std::string bytes;  // with the zeros that end strings
};

struct Module {
  std::shared_ptr<const std::string> text;
  std::string_view name;  // as messages show it
  int version_major = 0;
  int version_minor = 0;
  std::vector<std::string_view> targets;  // "sm_90a", "debug", "texmode_independent"
  int address_size = 64;
  std::vector<File> files;
  std::vector<Inlining> inlinings;
  std::vector<DebugString> debug_strings;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Directive> directives;  // .alias and others of module scope
};

// The function's name, mangled, as .debug_str has it; empty when it does not.
std::string_view function_name(const Module& module, const Inlining& inlining);

}  // namespace gpuforge::ptx
