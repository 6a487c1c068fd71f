#include "gpuforge/ptx/parser.h"

#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/ptx/inlinings.h"
#include "gpuforge/ptx/parser_state.h"

namespace gpuforge::ptx {
namespace {

// Directives that are statements end in a semicolon; the others belong to a function's head.
bool is_statement(std::string_view name) {
  return name == "pragma" || name == "alias";
}

// Statements and declarations; expressions and operands are in operand_parser.cpp.
class ModuleParser : private ParserState {
 public:
  ModuleParser(Module& module) : ParserState(*module.text, module.name), module_(module) {}
  void run();

 private:
  void module_statement();
  void version();
  void target();
  void file();
  SourceLine location();
  void section();
  Directive directive();
  void function(bool entry, Linkage linkage, const Position& at);
  void body(Block& block);
  void statement(Block& block);
  void after_label(Block& block, const Token& label);
  void instruction(Block& block);
  std::vector<Variable> parameters();
  Variable declaration_head(Linkage linkage, Space space);
  void declarator(Variable& variable);
  // All the declarators of one declaration, up to and with the semicolon.
  template <typename Sink>
  void declarations(Linkage linkage, Space space, Sink&& sink);

  Module& module_;
  SourceLine line_;
  Inlinings inlinings_;
  int depth_ = 0;
};

void ModuleParser::run() {
  if (!current_is_dotted("version")) fail("expected .version first: is this PTX?");
  while (current_.kind != TokenKind::end) module_statement();
}

void ModuleParser::module_statement() {
  const Position at = current_.position;
  if (current_.is(';')) return advance();  // stray semicolons are seen in hand-written text
  if (current_.kind != TokenKind::dotted) fail("expected a directive");
  Linkage linkage = Linkage::none;
  while (const auto found = linkage_of(current_.text)) {
    linkage = *found;
    advance();
    if (current_.kind != TokenKind::dotted) fail("expected .entry, .func or a variable");
  }
  const std::string_view word = current_.text;
  if (word == "version") return version();
  if (word == "target") return target();
  if (word == "address_size") {
    advance();
    module_.address_size = static_cast<int>(integer());
    if (module_.address_size != 64 && module_.address_size != 32) fail("expected .address_size 32 or 64");
    return;
  }
  if (word == "file") return file();
  if (word == "section") return section();
  if (word == "loc") {
    line_ = location();
    return;
  }
  if (word == "entry" || word == "func") {
    advance();
    return function(word == "entry", linkage, at);
  }
  if (const auto space = space_of(word)) {
    advance();
    return declarations(linkage, *space, [&](Variable&& v) { module_.variables.push_back(std::move(v)); });
  }
  if (word == "texref" || word == "samplerref" || word == "surfref") {
    return declarations(linkage, Space::tex,
                        [&](Variable&& v) { module_.variables.push_back(std::move(v)); });
  }
  if (word == "pragma" || word == "alias") {
    module_.directives.push_back(directive());
    return;
  }
  fail(format_text("unknown directive .{}", word));
}

void ModuleParser::version() {
  advance();
  if (current_.kind != TokenKind::number || !current_.version_like) fail("expected a version such as 8.5");
  const std::size_t dot = current_.text.find('.');
  module_.version_major = small_integer(current_.text.substr(0, dot));
  module_.version_minor = small_integer(current_.text.substr(dot + 1));
  advance();
}

void ModuleParser::target() {
  do {
    advance();
    if (current_.kind != TokenKind::word) fail("expected a target such as sm_80");
    module_.targets.push_back(current_.text);
    advance();
  } while (current_.is(','));
}

void ModuleParser::file() {
  advance();
  File file;
  file.number = static_cast<std::uint32_t>(integer());
  if (current_.kind != TokenKind::string) fail("expected a file name in quotes");
  file.name = current_.text;
  advance();
  while (current_.is(',')) {  // time stamp and size
    advance();
    integer();
  }
  module_.files.push_back(file);
}

SourceLine ModuleParser::location() {
  advance();
  SourceLine line;
  line.file = static_cast<std::uint32_t>(integer());
  line.line = static_cast<std::uint32_t>(integer());
  line.column = static_cast<std::uint32_t>(integer());
  if (current_.is(',')) {  // , function_name LABEL, inlined_at file line column
    Inlining inlining;
    advance();
    expect_word("function_name");
    if (current_.kind != TokenKind::word) fail("expected a label");
    inlining.function = current_.text;
    advance();
    if (current_.is('+')) {
      advance();
      inlining.function_offset = static_cast<std::uint32_t>(integer());
    }
    expect(',');
    expect_word("inlined_at");
    inlining.call.file = static_cast<std::uint32_t>(integer());
    inlining.call.line = static_cast<std::uint32_t>(integer());
    inlining.call.column = static_cast<std::uint32_t>(integer());
    line.inlining = inlinings_.add(module_, inlining);
  }
  inlinings_.saw(line);
  return line;
}

// DWARF: data for a debugger, nothing that runs. Names of inlined functions are kept.
void ModuleParser::section() {
  const Position at = current_.position;
  advance();
  if (current_.kind != TokenKind::dotted) fail("expected a section name");
  const bool strings = current_.text == "debug_str";
  advance();
  expect('{');
  while (!current_.is('}')) {
    if (current_.kind == TokenKind::end) fail_at(at, "this section is not closed");
    const Token token = current_;
    advance();
    if (!strings) continue;
    if (token.kind == TokenKind::word && current_.is(':')) {
      module_.debug_strings.push_back({token.text, {}});
    } else if (token.kind == TokenKind::number && !module_.debug_strings.empty()) {
      module_.debug_strings.back().bytes += static_cast<char>(token.constant.bits);
    }
  }
  advance();
}

Directive ModuleParser::directive() {
  Directive directive;
  directive.position = current_.position;
  directive.name = current_.text;
  advance();
  const auto operand = [&] {
    return current_.kind == TokenKind::string || current_.kind == TokenKind::number ||
           current_.kind == TokenKind::word;
  };
  while (operand()) {
    // A string keeps its quotes: the view is widened by one on each side.
    const std::size_t quotes = current_.kind == TokenKind::string ? 1 : 0;
    directive.words.emplace_back(current_.text.data() - quotes, current_.text.size() + 2 * quotes);
    advance();
    if (!current_.is(',')) break;
    advance();
    if (!operand()) fail("expected another value after the comma");
  }
  if (is_statement(directive.name)) expect(';');
  return directive;
}

std::vector<Variable> ModuleParser::parameters() {
  std::vector<Variable> list;
  expect('(');
  while (!current_.is(')')) {
    if (!list.empty()) expect(',');
    if (current_.kind != TokenKind::dotted) fail("expected .param or .reg");
    const auto space = space_of(current_.text);
    if (space != Space::param && space != Space::reg) fail("expected .param or .reg");
    advance();
    Variable parameter = declaration_head(Linkage::none, *space);
    declarator(parameter);
    list.push_back(std::move(parameter));
  }
  advance();
  return list;
}

void ModuleParser::function(bool entry, Linkage linkage, const Position& at) {
  Function function;
  function.entry = entry;
  function.linkage = linkage;
  function.position = at;
  while (current_is_dotted("attribute")) skip_attribute(nullptr);
  if (current_.is('(')) function.results = parameters();
  if (current_.kind != TokenKind::word) fail("expected the function's name");
  function.name = current_.text;
  advance();
  if (current_.is('(')) function.parameters = parameters();
  while (current_.kind == TokenKind::dotted) function.directives.push_back(directive());
  if (current_.is(';')) {
    advance();
  } else if (current_.is('{')) {
    function.body = std::make_unique<Block>();
    line_ = {};
    inlinings_.forget_lines();
    body(*function.body);
  } else {
    fail("expected the function's body or ';'");
  }
  module_.functions.push_back(std::move(function));
}

void ModuleParser::body(Block& block) {
  block.position = current_.position;
  if (++depth_ > 200) fail("blocks nest deeper than 200");
  advance();
  while (!current_.is('}')) {
    if (current_.kind == TokenKind::end) fail_at(block.position, "this block is not closed");
    statement(block);
  }
  advance();
  --depth_;
}

void ModuleParser::statement(Block& block) {
  if (current_.is('{')) {
    auto inner = std::make_unique<Block>();
    body(*inner);
    block.statements.emplace_back(std::move(inner));
  } else if (current_.is(';')) {
    advance();
  } else if (current_.kind == TokenKind::dotted) {
    if (current_.text == "loc") {
      line_ = location();
    } else if (current_.text == "file") {
      file();
    } else if (const auto space = space_of(current_.text)) {
      advance();
      declarations(Linkage::none, *space, [&](Variable&& v) { block.statements.emplace_back(std::move(v)); });
    } else if (current_.text == "pragma") {
      block.statements.emplace_back(directive());
    } else {
      fail("expected a declaration or .pragma");
    }
  } else if (current_.is('@')) {
    instruction(block);
  } else if (current_.kind == TokenKind::word) {
    const Token first = current_;
    const Token second = peek();
    if (!second.is(':')) return instruction(block);
    advance();
    advance();
    after_label(block, first);
  } else {
    fail("expected an instruction, a label or a declaration");
  }
}

void ModuleParser::after_label(Block& block, const Token& label) {
  if (current_is_dotted("callprototype")) {
    advance();
    Prototype prototype;
    prototype.name = label.text;
    prototype.position = label.position;
    if (current_.is('(')) prototype.results = parameters();
    expect_word("_");
    if (current_.is('(')) prototype.parameters = parameters();
    while (current_.kind == TokenKind::dotted) {
      if (current_.text == "noreturn") prototype.noreturn = true;
      directive();
    }
    if (current_.is(';')) advance();
    block.statements.emplace_back(std::move(prototype));
  } else if (current_is_dotted("branchtargets") || current_is_dotted("calltargets")) {
    Targets targets;
    targets.name = label.text;
    targets.position = label.position;
    targets.calls = current_.text == "calltargets";
    do {
      advance();
      if (current_.kind != TokenKind::word) fail("expected a target's name");
      targets.targets.push_back(current_.text);
      advance();
    } while (current_.is(','));
    expect(';');
    block.statements.emplace_back(std::move(targets));
  } else {
    block.statements.emplace_back(Label{label.text, label.position});
  }
}

void ModuleParser::instruction(Block& block) {
  Instruction instruction;
  instruction.source = line_;
  instruction.position = current_.position;
  if (current_.is('@')) {
    advance();
    if (current_.is('!')) {
      instruction.guard.negated = true;
      advance();
    }
    if (current_.kind != TokenKind::word) fail("expected a predicate after @");
    instruction.guard.predicate = current_.text;
    advance();
  }
  if (current_.kind != TokenKind::word) fail("expected an instruction");
  instruction.opcode = current_.text;
  advance();
  while (current_.kind == TokenKind::dotted) {
    instruction.modifiers.push_back(current_.text);
    advance();
  }
  if (!current_.is(';')) {
    instruction.operands.push_back(operand(0));
    while (current_.is(',')) {
      advance();
      instruction.operands.push_back(operand(0));
    }
  }
  expect(';');
  block.statements.emplace_back(std::move(instruction));
}

Variable ModuleParser::declaration_head(Linkage linkage, Space space) {
  Variable variable;
  variable.linkage = linkage;
  variable.space = space;
  variable.position = current_.position;
  bool have_type = false;
  while (current_.kind == TokenKind::dotted) {
    const std::string_view word = current_.text;
    if (word == "align") {
      advance();
      const std::int64_t bytes = integer();
      if (bytes < 1 || bytes > std::int64_t{1} << 20)
        fail(format_text("an alignment of 1 to 2^20 bytes is expected, not {}", bytes));
      (variable.pointer ? variable.pointer_alignment : variable.alignment) =
          static_cast<std::uint32_t>(bytes);
      continue;
    }
    if (word == "attribute") {
      skip_attribute(&variable.attributes);
      continue;
    }
    if (word == "v2" || word == "v4" || word == "v8") {
      variable.vector_width = static_cast<std::uint8_t>(word[1] - '0');
    } else if (word == "ptr") {
      variable.pointer = true;
    } else if (const auto inner = space_of(word); inner && variable.pointer) {
      variable.pointer_space = *inner;
    } else if (!have_type) {
      variable.type = word;
      have_type = true;
    } else {
      fail(format_text("unexpected .{} in a declaration", word));
    }
    advance();
  }
  if (!have_type) fail("expected a type such as .u32");
  return variable;
}

void ModuleParser::declarator(Variable& variable) {
  if (current_.kind != TokenKind::word) fail("expected a name");
  variable.name = current_.text;
  variable.position = current_.position;
  advance();
  if (current_.is('<')) {
    advance();
    const std::int64_t range = integer();
    if (range < 0 || range > 1'000'000) fail("a register range of 0 to 1000000 is expected");
    variable.range = static_cast<std::uint32_t>(range);
    variable.has_range = true;
    expect('>');
  }
  while (current_.is('[')) {
    advance();
    if (current_.is(']')) {
      variable.extents.push_back(-1);
    } else {
      const std::int64_t extent = integer_expression();
      if (extent < 0) fail("an array's extent cannot be negative");
      variable.extents.push_back(extent);
    }
    expect(']');
  }
}

template <typename Sink>
void ModuleParser::declarations(Linkage linkage, Space space, Sink&& sink) {
  const Variable head = declaration_head(linkage, space);
  while (true) {
    Variable variable = head;
    declarator(variable);
    if (current_.is('=')) {
      advance();
      variable.initializer.push_back(initializer(0));
    }
    sink(std::move(variable));
    if (!current_.is(',')) break;
    advance();
  }
  expect(';');
}

}  // namespace

Module parse(std::string text, std::string_view name) {
  Module module;
  auto owned = std::make_shared<ModuleText>();
  owned->name = name;
  owned->text = std::move(text);
  module.text = std::shared_ptr<const std::string>(owned, &owned->text);
  module.name = owned->name;
  ModuleParser(module).run();
  return module;
}

}  // namespace gpuforge::ptx
