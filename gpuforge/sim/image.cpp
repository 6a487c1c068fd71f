// A kernel and everything it reaches, decoded together: which functions and shared variables, and where they
// lie.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/listing.h"
#include "gpuforge/sim/program.h"
#include "gpuforge/sim/row_finder.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint64_t kMaxSharedBytes =
    1u << 20;  // more than any chip has; the launch checks the chip's limit

// Goes through a function's text for the names of functions and shared variables.
class Reach {
 public:
  explicit Reach(const Program& program) : program_(program) {}

  void from(const ptx::Function& entry) {
    add(program_.functions.at(entry.name));
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const ptx::Function& function = program_.module.functions[functions_[i]];
      if (function.body != nullptr) block(*function.body);
      if (indirect_ && i + 1 == functions_.size()) add_all();
    }
  }

  const std::vector<std::uint32_t>& functions() const { return functions_; }
  const std::vector<const ptx::Variable*>& shared() const { return shared_; }
  bool indirect() const { return indirect_; }

 private:
  void add(std::uint32_t function) {
    if (seen_.insert(function).second) functions_.push_back(function);
  }
  void add_all() {
    for (std::uint32_t i = 0; i < program_.module.functions.size(); ++i) {
      const ptx::Function& function = program_.module.functions[i];
      if (!function.entry && function.body != nullptr) add(i);
    }
  }
  void name(std::string_view text) {
    if (const auto function = program_.functions.find(text); function != program_.functions.end())
      add(function->second);
    if (const auto variable = program_.shared.find(text); variable != program_.shared.end())
      shared(variable->second);
  }
  void shared(const ptx::Variable* variable) {
    if (std::find(shared_.begin(), shared_.end(), variable) == shared_.end()) shared_.push_back(variable);
  }
  void operand(const ptx::Operand& one) {
    std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, ptx::Name> || std::is_same_v<T, ptx::NamePlus>)
            name(value.text);
          else if constexpr (std::is_same_v<T, ptx::Address>)
            name(value.base);
          else if constexpr (std::is_same_v<T, ptx::Vector> || std::is_same_v<T, ptx::List> ||
                             std::is_same_v<T, ptx::AddressList>)
            for (const ptx::Operand& part : value.parts) operand(part);
        },
        one.value);
  }
  void block(const ptx::Block& block) {
    for (const ptx::Statement& statement : block.statements) {
      if (const auto* instruction = std::get_if<ptx::Instruction>(&statement)) {
        for (const ptx::Operand& one : instruction->operands) operand(one);
        if (instruction->opcode == "call" && !calls_by_name(*instruction)) indirect_ = true;
      } else if (const auto* variable = std::get_if<ptx::Variable>(&statement)) {
        if (variable->space == ptx::Space::shared) shared(variable);
      } else if (const auto* inner = std::get_if<std::unique_ptr<ptx::Block>>(&statement)) {
        this->block(**inner);
      }
    }
  }
  bool calls_by_name(const ptx::Instruction& call) const {
    for (const ptx::Operand& one : call.operands)
      if (const auto* target = std::get_if<ptx::Name>(&one.value))
        return program_.functions.count(target->text) != 0;
    return false;
  }

  const Program& program_;
  std::vector<std::uint32_t> functions_;
  std::set<std::uint32_t> seen_;
  std::vector<const ptx::Variable*> shared_;
  bool indirect_ = false;
};

void lay_out_shared(ImageBuilder& builder, const std::vector<const ptx::Variable*>& variables) {
  const ptx::Module& module = builder.program->module;
  std::uint64_t top = 0;
  const auto place = [&](const ptx::Variable* variable) {
    const std::uint64_t alignment = variable_alignment(module, *variable);
    const std::uint64_t offset = (top + alignment - 1) / alignment * alignment;
    builder.shared_offsets[variable] = static_cast<std::uint32_t>(offset);
    return offset;
  };
  for (const ptx::Variable* variable : variables) {
    if (variable->linkage == ptx::Linkage::external) continue;
    top = place(variable) + variable_bytes(module, *variable);
    if (top > kMaxSharedBytes)
      fail(ErrorCode::unsupported, module, variable->position, "more shared memory than any GPU has");
  }
  builder.image->static_shared_bytes = static_cast<std::uint32_t>(top);
  // All extern arrays are the same dynamic shared memory, behind the static one.
  std::uint64_t alignment = 16;
  for (const ptx::Variable* variable : variables)
    if (variable->linkage == ptx::Linkage::external)
      alignment = std::max<std::uint64_t>(alignment, variable_alignment(module, *variable));
  top = (top + alignment - 1) / alignment * alignment;
  builder.image->dynamic_shared_offset = static_cast<std::uint32_t>(top);
  for (const ptx::Variable* variable : variables)
    if (variable->linkage == ptx::Linkage::external) place(variable);
}

// What can make one block depend on when another runs.
void note_communication(Image& image) {
  for (const Site& site : image.sites) {
    if (!site.counted) continue;
    const std::string_view text = site.text;
    image.orders_memory = image.orders_memory || site.op_class == OpClass::fence;
    for (const std::string_view word : {"mbarrier.", "barrier.cluster.", "st.async.", "cp.async.bulk.shared"})
      image.has_arrivals = image.has_arrivals || text.starts_with(word);
    for (const std::string_view word : {".acquire", ".release", ".acq_rel"})
      image.orders_memory = image.orders_memory || text.find(word) != std::string_view::npos;
    const bool may_be_global = site.space == Space::global || site.space == Space::generic;
    if (site.op_class == OpClass::atomic) image.lanes_may_wait = true;
    if (site.op_class == OpClass::atomic && may_be_global) {
      // Sums, bits and extremes of integers are the same in any order; .inc and .dec wrap at what comes last.
      const bool reduction = text.starts_with("red") && text.find(".f") == std::string_view::npos &&
                             text.find(".bf") == std::string_view::npos &&
                             text.find(".inc") == std::string_view::npos &&
                             text.find(".dec") == std::string_view::npos;
      if (!reduction) image.order_matters = true;
      if (text.starts_with("atom")) image.polls = true;
    }
    if (site.op_class == OpClass::load)
      for (const std::string_view word : {".volatile", ".relaxed", ".acquire", ".mmio"})
        if (text.find(word) != std::string_view::npos) {
          image.lanes_may_wait = true;
          image.polls = image.polls || may_be_global;
          image.order_matters = image.order_matters || may_be_global;
        }
  }
}

void group_sites(Image& image) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, OpClass, Space>, std::uint32_t> first;
  for (std::uint32_t i = 0; i < image.sites.size(); ++i) {
    Site& site = image.sites[i];
    site.group = i;
    if (site.source.line == 0) continue;
    const ptx::SourceLine& source = site.source;
    const auto key = std::tuple(source.file, source.line, source.inlining, site.op_class, site.space);
    site.group = first.try_emplace(key, i).first->second;
  }
}

// The deepest chain of calls, in bytes of local memory; cycles set `recursive`.
std::uint32_t local_depth(Image& image, std::uint32_t code, std::vector<std::uint8_t>& open,
                          std::vector<std::uint32_t>& known) {
  if (known[code] != 0xffffffffu) return known[code];
  if (open[code] != 0) {
    image.recursive = true;
    return 0;
  }
  open[code] = 1;
  std::uint32_t deepest = 0;
  for (const Call& call : image.codes[code].calls) {
    if (call.callee == Call::kIndirect) {
      image.recursive = image.recursive || call.builtin == Builtin::none;
      continue;
    }
    deepest = std::max(deepest, local_depth(image, call.callee, open, known));
  }
  open[code] = 0;
  known[code] = image.codes[code].local_bytes + deepest;
  return known[code];
}

// What ptxas refuses on every chip.
void check_sizes(const Image& image, const ptx::Module& module, const ptx::Function& entry) {
  const bool large = std::pair(module.version_major, module.version_minor) >= std::pair(8, 1);
  const std::uint32_t most = large ? 32764 : 4352;
  if (image.param_bytes > most)
    fail(ErrorCode::parse, module, entry.position,
         format_text("kernel {} has {} bytes of parameters; PTX {}.{} allows {}", entry.name,
                     image.param_bytes, module.version_major, module.version_minor, most));
  if (image.max_local_bytes > kMaxLocalBytes)
    fail(ErrorCode::parse, module, entry.position,
         format_text("kernel {} has {} bytes of local memory; a thread can have {}", entry.name,
                     image.max_local_bytes, kMaxLocalBytes));
}

}  // namespace

std::shared_ptr<Image> decode_image(const Program& program, const ptx::Function& entry) {
  auto image = std::make_shared<Image>();
  ImageBuilder builder;
  builder.program = &program;
  builder.image = image.get();
  Reach reach(program);
  reach.from(entry);
  lay_out_shared(builder, reach.shared());
  image->code_of_function.assign(program.module.functions.size(), Call::kIndirect);
  std::uint32_t next = 0;
  for (const std::uint32_t function : reach.functions()) {
    if (program.module.functions[function].body == nullptr) continue;
    builder.codes[function] = next;
    image->code_of_function[function] = next++;
  }
  RowFinder rows;
  for (const std::uint32_t function : reach.functions()) {
    if (program.module.functions[function].body == nullptr) continue;
    Listing listing = list_function(builder, rows, program.module.functions[function]);
    image->codes.push_back(make_code(builder, listing));
  }
  note_communication(*image);
  group_sites(*image);
  std::vector<std::uint8_t> open(image->codes.size(), 0);
  std::vector<std::uint32_t> known(image->codes.size(), 0xffffffffu);
  image->max_local_bytes = local_depth(*image, 0, open, known);
  check_sizes(*image, program.module, entry);
  return image;
}

}  // namespace gpuforge::sim
