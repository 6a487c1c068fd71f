#include "gpuforge/sim/program.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "gpuforge/ptx/parser.h"
#include "gpuforge/sim/syntax.h"

namespace gpuforge::sim {
namespace {

constexpr std::size_t kMaxVariableBytes = std::size_t{1} << 40;
constexpr std::size_t kMaxModuleBytes = std::size_t{1}
                                        << 32;  // of host memory, at most, for the variables of hostile text
constexpr std::size_t kRedZone = 256;

// Writes one initialiser's values in order; braces only group.
class Filler {
 public:
  Filler(const Program& program, const ptx::Variable& variable, std::byte* to, std::size_t bytes)
      : program_(program),
        variable_(variable),
        to_(to),
        bytes_(bytes),
        width_(static_cast<std::size_t>(bits(type_named(variable.type))) / 8) {}

  // Braces only group: the values follow each other, and what is left stays zero (as ptxas has it).
  void fill(const ptx::Initializer& initializer) {
    if (const auto* list = std::get_if<std::vector<ptx::Initializer>>(&initializer.value)) {
      for (const ptx::Initializer& part : *list) fill(part);
      return;
    }
    if (width_ > bytes_ - at_) refuse("this initialiser has more values than the variable");
    const std::uint64_t value = value_of(initializer);
    std::memcpy(to_ + at_, &value, width_);
    at_ += width_;
  }

 private:
  [[noreturn]] void refuse(std::string_view message) const {
    fail(ErrorCode::parse, program_.module, variable_.position, message);
  }

  std::uint64_t value_of(const ptx::Initializer& initializer) const {
    if (const auto* constant = std::get_if<ptx::Constant>(&initializer.value)) {
      if (constant->kind == ptx::Constant::Kind::f64 && width_ == 4 &&
          type_named(variable_.type) == Type::f32)
        return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(constant->bits)));
      return constant->bits;
    }
    const auto& symbol = std::get<ptx::SymbolValue>(initializer.value);
    std::uint64_t address = 0;
    if (const auto placed = program_.variables.find(symbol.symbol); placed != program_.variables.end()) {
      address = placed->second.address;
    } else if (const auto function = program_.functions.find(symbol.symbol);
               function != program_.functions.end()) {
      address = kFunctionWindow + 16 * std::uint64_t{function->second};
    } else {
      refuse(format_text("'{}' is not a variable or function with an address here", symbol.symbol));
    }
    address += static_cast<std::uint64_t>(symbol.offset);
    if (symbol.mask == 0) return address;
    return (address & symbol.mask) >> std::countr_zero(symbol.mask);
  }

  const Program& program_;
  const ptx::Variable& variable_;
  std::byte* const to_;
  const std::size_t bytes_;
  const std::size_t width_;
  std::size_t at_ = 0;
};

void place_variables(Program& program) {
  struct Pending {
    const ptx::Variable* variable;
    std::byte* at;
    std::size_t bytes;
  };
  std::vector<Pending> pending;
  std::size_t total = 0;
  for (const ptx::Variable& variable : program.module.variables) {
    if (variable.space == ptx::Space::shared) {
      program.shared.emplace(variable.name, &variable);
      continue;
    }
    if (variable.space != ptx::Space::global && variable.space != ptx::Space::constant) continue;
    if (variable.linkage == ptx::Linkage::external) continue;  // unknown until it is used
    const std::size_t bytes = variable_bytes(program.module, variable);
    const std::size_t alignment = std::max<std::size_t>(variable_alignment(program.module, variable), 256);
    if (program.variables.count(variable.name) != 0)
      fail(ErrorCode::parse, program.module, variable.position,
           format_text("'{}' is declared twice", variable.name));
    total += bytes;
    if (total > kMaxModuleBytes)
      fail(ErrorCode::out_of_memory, program.module, variable.position,
           "the variables up to here take more than 2^32 bytes");
    std::unique_ptr<std::byte[], FreeStorage> storage(
        static_cast<std::byte*>(std::calloc(bytes + alignment + 2 * kRedZone, 1)));
    if (storage == nullptr)
      fail(ErrorCode::out_of_memory, program.module, variable.position,
           format_text("no memory for the {} bytes of '{}'", bytes, variable.name));
    const auto start = reinterpret_cast<std::uint64_t>(storage.get()) + kRedZone;
    const std::uint64_t address = (start + alignment - 1) / alignment * alignment;
    program.storage.push_back(std::move(storage));
    const auto allocation =
        program.memory->add(address, bytes, format_text("variable {}", variable.name), true);
    allocation->read_only = variable.space == ptx::Space::constant;
    program.registered.push_back(address);
    program.variables.emplace(variable.name, PlacedVariable{&variable, address, bytes});
    pending.push_back({&variable, reinterpret_cast<std::byte*>(address), bytes});
  }
  // Initialisers may hold addresses of variables further down.
  for (const Pending& one : pending)
    for (const ptx::Initializer& initializer : one.variable->initializer)
      Filler(program, *one.variable, one.at, one.bytes).fill(initializer);
}

// .maxntid 64, 2: what is not said is 1. No launch has as many as the largest, so nothing is lost by stopping
// there.
Index3 directive_extents(const ptx::Directive& directive) {
  const auto number = [&](std::size_t index) {
    std::uint32_t value = 1;
    if (index >= directive.words.size()) return value;
    const std::string_view word = directive.words[index];
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    return problem == std::errc::result_out_of_range ? std::numeric_limits<std::uint32_t>::max() : value;
  };
  return {number(0), number(1), number(2)};
}

std::vector<EntryFacts::Parameter> lay_out_parameters(const ptx::Module& module,
                                                      const ptx::Function& function) {
  std::vector<EntryFacts::Parameter> all;
  std::size_t top = 0;
  for (const ptx::Variable& parameter : function.parameters) {
    const std::size_t alignment = variable_alignment(module, parameter);
    top = (top + alignment - 1) / alignment * alignment;
    const std::size_t bytes = variable_bytes(module, parameter);
    all.push_back({top, bytes});
    top += bytes;
  }
  return all;
}

// The files of lanes/ are compiled for these.
void check_processor() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
    throw Error(ErrorCode::unavailable, "sim: the simulator needs a processor with AVX2, FMA and BMI2");
#endif
}

}  // namespace

void fail(ErrorCode code, const ptx::Module& module, const ptx::Position& at, std::string_view message) {
  throw Error(code, format_text("{}:{}:{}: {}", module.name, at.line, at.column, message));
}

Program::~Program() {
  for (const std::uint64_t address : registered) memory->remove(address);
}

std::size_t element_bytes(const ptx::Module& module, const ptx::Variable& variable) {
  const Type type = type_named(variable.type);
  if (type == Type::none || type == Type::pred)
    fail(ErrorCode::unsupported, module, variable.position,
         format_text("variables of type .{} are not supported", variable.type));
  return static_cast<std::size_t>(bits(type)) / 8 * variable.vector_width;
}

std::size_t variable_bytes(const ptx::Module& module, const ptx::Variable& variable) {
  std::size_t bytes = element_bytes(module, variable);
  for (std::size_t i = 0; i < variable.extents.size(); ++i) {
    std::int64_t extent = variable.extents[i];
    if (extent < 0) {  // []: as many as the initialiser has, none for extern arrays
      extent = 0;
      if (!variable.initializer.empty())
        if (const auto* list = std::get_if<std::vector<ptx::Initializer>>(&variable.initializer[0].value))
          extent = static_cast<std::int64_t>(list->size());
    }
    if (extent != 0 && bytes > kMaxVariableBytes / static_cast<std::size_t>(extent))
      fail(ErrorCode::parse, module, variable.position, "this variable is larger than 2^40 bytes");
    bytes *= static_cast<std::size_t>(extent);
  }
  return bytes;
}

std::size_t variable_alignment(const ptx::Module& module, const ptx::Variable& variable) {
  const std::size_t alignment =
      variable.alignment != 0 ? variable.alignment : element_bytes(module, variable);
  if (!std::has_single_bit(alignment))
    fail(ErrorCode::parse, module, variable.position, "an alignment is a power of two");
  return alignment;
}

std::shared_ptr<const Program> load_program(std::shared_ptr<Memory> memory, std::string ptx,
                                            std::string name) {
  check_processor();
  auto program = std::make_shared<Program>();
  program->name = std::move(name);
  program->memory = std::move(memory);
  program->module = ptx::parse(std::move(ptx), program->name);
  if (program->module.address_size != 64)
    throw Error(ErrorCode::unsupported,
                format_text("{}: 64-bit addresses are expected (.address_size 64)", program->name));
  for (std::uint32_t i = 0; i < program->module.functions.size(); ++i) {
    const ptx::Function& function = program->module.functions[i];
    const auto [found, added] = program->functions.emplace(function.name, i);
    if (added) continue;
    const bool both = program->module.functions[found->second].body != nullptr && function.body != nullptr;
    if (both)
      fail(ErrorCode::parse, program->module, function.position,
           format_text("'{}' is defined twice", function.name));
    if (function.body != nullptr) found->second = i;
  }
  place_variables(*program);
  return program;
}

std::vector<std::string> entries(const Program& program) {
  std::vector<std::string> all;
  for (const ptx::Function& function : program.module.functions)
    if (function.entry && function.body != nullptr) all.emplace_back(function.name);
  return all;
}

EntryFacts entry_facts(const Program& program, std::string_view entry) {
  const std::shared_ptr<const Image> image = image_of(program, entry);
  const ptx::Function& function = program.module.functions[program.functions.at(entry)];
  EntryFacts facts;
  facts.name = entry;
  facts.static_shared_bytes = image->static_shared_bytes;
  facts.local_bytes = image->max_local_bytes;
  facts.parameters = lay_out_parameters(program.module, function);
  for (const ptx::Directive& directive : function.directives) {
    if (directive.name == "maxntid" || directive.name == "reqntid") {
      const Index3 block = directive_extents(directive);
      const double threads = static_cast<double>(block.x) * block.y * block.z;
      facts.max_threads_per_block = static_cast<int>(std::min<double>(threads, 1u << 30));
      if (directive.name == "reqntid") facts.required_block = block;
    }
    if (directive.name == "reqnctapercluster") facts.required_cluster = directive_extents(directive);
  }
  return facts;
}

std::string_view target_chip(const Program& program) {
  for (const std::string_view target : program.module.targets)
    if (target.starts_with("sm_")) return target;
  return {};
}

std::shared_ptr<const Image> image_of(const Program& program, std::string_view entry) {
  const std::lock_guard lock(program.mutex);
  if (const auto found = program.images.find(entry); found != program.images.end()) return found->second;
  const auto function = program.functions.find(entry);
  if (function == program.functions.end() || !program.module.functions[function->second].entry ||
      program.module.functions[function->second].body == nullptr) {
    std::string known;
    for (const std::string& one : entries(program)) known += (known.empty() ? "" : ", ") + one;
    throw Error(ErrorCode::invalid_argument, format_text("{} has no kernel '{}'; it has: {}", program.name,
                                                         entry, known.empty() ? "none" : known));
  }
  std::shared_ptr<const Image> image = decode_image(program, program.module.functions[function->second]);
  program.images.emplace(entry, image);
  return image;
}

}  // namespace gpuforge::sim
