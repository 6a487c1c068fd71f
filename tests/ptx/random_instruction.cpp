#include "tests/ptx/random_instruction.h"

#include <algorithm>
#include <array>

#include "gpuforge/base/format.h"

namespace gpuforge::ptx_files {
namespace {

using sim::Match;
using sim::OperandKind;
using sim::OperandSyntax;
using sim::OperandType;
using sim::Type;

struct Exclusion {
  std::string_view start;  // of a row's syntax
  std::string_view why;
};
constexpr std::string_view kApprox = "approximate: approx_test.cpp";
constexpr std::string_view kNewer = "not on an H200";
constexpr std::string_view kPaired = "needs a partner: tests/ptx has it";
constexpr std::string_view kOpen = "the manual leaves the result open";
constexpr std::string_view kAddress = "its result is an address; every kernel starts with it";
constexpr std::string_view kArrivals = "needs others around it that fit: tests/ptx has them";
constexpr std::array kExclusions = {
    Exclusion{"div.approx", kApprox},
    Exclusion{"div.full", kApprox},
    Exclusion{"rcp.approx", kApprox},
    Exclusion{"sqrt.approx", kApprox},
    Exclusion{"rsqrt.approx", kApprox},
    Exclusion{"sin.approx", kApprox},
    Exclusion{"cos.approx", kApprox},
    Exclusion{"lg2.approx", kApprox},
    Exclusion{"ex2.approx", kApprox},
    Exclusion{"tanh.approx", kApprox},
    Exclusion{"add[.rn|.rz|.rm|.rp][.sat].f32(.f16|.bf16)", kNewer},
    Exclusion{"sub[.rn|.rz|.rm|.rp][.sat].f32(.f16|.bf16)", kNewer},
    Exclusion{"fma(.rn|.rz|.rm|.rp)[.sat].f32(.f16|.bf16)", kNewer},
    Exclusion{"add[.rn|.rz|.rm|.rp][.ftz].f32x2", kNewer},
    Exclusion{"sub[.rn|.rz|.rm|.rp][.ftz].f32x2", kNewer},
    Exclusion{"mul[.rn|.rz|.rm|.rp][.ftz].f32x2", kNewer},
    Exclusion{"fma(.rn|.rz|.rm|.rp)[.ftz].f32x2", kNewer},
    Exclusion{"min[.ftz][.NaN][.abs].f32", kNewer},
    Exclusion{"max[.ftz][.NaN][.abs].f32", kNewer},
    Exclusion{"sub(.u8x4|.s8x4)", kNewer},
    Exclusion{"neg.s8x4", kNewer},
    Exclusion{"cvt.rn.satfinite[.relu].e2m1x2", kNewer},
    Exclusion{"cvt.rn[.relu].f16x2.e2m1x2", kNewer},
    Exclusion{"redux.sync(.min|.max)[.abs][.NaN].f32", kNewer},
    Exclusion{"cvt(.rz|.rp)[.satfinite].ue8m0x2", kNewer},
    Exclusion{"cvt.rn.bf16x2.ue8m0x2", kNewer},
    Exclusion{"abs(.bf16|.bf16x2)", "of NaNs a driver makes what suits the kernel around"},
    Exclusion{"neg(.bf16|.bf16x2)", "of NaNs a driver makes what suits the kernel around"},
    Exclusion{"abs[.ftz](.f16|.f16x2)", "of NaNs a driver makes what suits the kernel around"},
    Exclusion{"neg[.ftz](.f16|.f16x2)", "of NaNs a driver makes what suits the kernel around"},
    Exclusion{"min.f64", "which of two NaNs it gives is open, and differs from kernel to kernel"},
    Exclusion{"max.f64", "which of two NaNs it gives is open, and differs from kernel to kernel"},
    Exclusion{"alloca", kAddress},
    Exclusion{"stacksave", kAddress},
    Exclusion{"stackrestore", kAddress},
    Exclusion{"shfl(", "before sm_70 only"},
    Exclusion{"vote(", "before sm_70 only"},
    Exclusion{"vote.ballot", "before sm_70 only"},
    Exclusion{"activemask", kOpen},
    Exclusion{"elect", kOpen},
    Exclusion{"createpolicy", "its result is opaque; every kernel starts with one"},
    Exclusion{"discard", "what it leaves is open"},
    Exclusion{"applypriority", "needs 128 bytes of L2 of its own"},
    Exclusion{"cvta", kAddress},
    Exclusion{"isspacep(.param", "parameters are read at the start only: tests/ptx has it"},
    Exclusion{"bar[.cta].arrive", kPaired},
    Exclusion{"barrier[.cta].arrive", kPaired},
    Exclusion{"mbarrier.", kArrivals},
    Exclusion{"barrier.cluster.", kArrivals},
    Exclusion{"mapa", kArrivals},
    Exclusion{"getctarank", kArrivals},
    Exclusion{"st.async", kArrivals},
    Exclusion{"cp.async.bulk(.shared", kArrivals},
    Exclusion{"fence.mbarrier_init", kArrivals},
    Exclusion{"fence.proxy.async", kArrivals},
    Exclusion{"trap", "ends the kernel"},
    Exclusion{"brkpt", "for a debugger"},
    Exclusion{"pmevent", "for a profiler"},
    Exclusion{"nanosleep", "only takes time"},
    Exclusion{"ld.mmio", "for the memory of devices"},
    Exclusion{"st.mmio", "for the memory of devices"},
};

bool one_of_types(Type type, std::initializer_list<Type> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}
bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_integer(Type type) {
  return one_of_types(type,
                      {Type::u8, Type::s8, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64});
}
bool is_signed(Type type) {
  return one_of_types(type, {Type::s8, Type::s16, Type::s32, Type::s64});
}
bool is_half(Type type) {
  return one_of_types(type, {Type::f16, Type::bf16, Type::f16x2, Type::bf16x2});
}
bool is_bfloat(Type type) {
  return type == Type::bf16 || type == Type::bf16x2;
}

// Every value of `from` is one of `to`: nothing to saturate.
bool holds(Type to, Type from) {
  if (is_signed(from) && !is_signed(to)) return false;
  return sim::bits(to) > sim::bits(from) ||
         (sim::bits(to) == sim::bits(from) && is_signed(to) == is_signed(from));
}

bool h200_takes_cvt(const Match& match) {
  const Type to = match.other_type, from = match.type;
  const bool sat = match.has("sat");
  if (to == Type::tf32 && match.has("satfinite") && !match.has("rna")) return false;
  // The flushing is lost with .sat and with .rp.
  if (match.has("ftz") && to == Type::f16 && from == Type::f32) return false;
  if (sat && is_integer(to) && is_integer(from) && holds(to, from)) return false;
  if (is_bfloat(to) || is_bfloat(from)) return !sat && sim::bits(to) != 8 && sim::bits(from) != 8;
  return true;
}

bool h200_takes_access(const Form& form, const Match& match) {
  const bool global = match.has("global");
  const bool elsewhere =
      match.has("shared") || match.has("shared::cta") || match.has("local") || match.has("const");
  const bool cache_operator =
      std::any_of(form.modifiers.begin(), form.modifiers.end(), [](std::string_view word) {
        return one_of(word, {"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
      });
  for (const std::string_view word : form.modifiers) {
    if (word == "v8") return false;
    if (word.starts_with("L1::") && (elsewhere || cache_operator)) return false;
    if (word.starts_with("L2::") && elsewhere) return false;
    if (word.starts_with("L2::evict")) return false;
  }
  if (match.has("nc") && (!global || match.has("weak") || match.has("lu") || match.has("cv"))) return false;
  if (match.has("lu") && !global && !match.has("shared") && !match.has("const"))
    return false;  // drops local lines
  if (match.has("volatile") && (match.has("local") || match.has("const"))) return false;
  const int count = match.has("v4") ? 4 : match.has("v2") ? 2 : 1;
  return count * sim::bits(match.type) <= 128;
}

// Combinations that the table takes, because some chip or version does, and an H200's assembler does not.
bool h200_takes(const Form& form) {
  const Match match = form.match();
  const std::string_view name = form.row->syntax.mnemonic;
  for (const std::string_view word : form.modifiers) {
    if (one_of(word, {"u8x4", "s8x4", "e2m3x2", "e3m2x2"})) return false;
    if (one_of(word, {"param", "param::entry", "param::func", "cluster", "shared::cluster"})) return false;
  }
  if (name == "cvt") return h200_takes_cvt(match);
  if (one_of(name, {"ld", "ldu", "st"})) return h200_takes_access(form, match);
  if (one_of(name, {"atom", "red"})) {
    if (match.has("add") && match.type == Type::s64) return false;
    // A loop in shared memory, after which an H200's warp was seen apart at a barrier.
    if (is_half(match.type) && (match.has("shared") || match.has("shared::cta"))) return false;
    // A loop as well: which of two NaNs it keeps is the assembler's choice.
    if (match.type == Type::f64 && !match.has("global")) return false;
    if (match.has("L2::cache_hint") && match.has("cas")) return false;
    return h200_takes_access(form, match);
  }
  if (name == "add" && match.has("sat") && is_integer(match.type)) return match.type == Type::s32;
  if (match.has("sat") && (match.type == Type::u16x2 || match.type == Type::s16x2)) return false;
  if (name == "set" && match.has("ftz") && (is_bfloat(match.type) || is_bfloat(match.other_type)))
    return false;
  // The driver of CUDA 13.0 makes 1 of 1.0 in some kernels that read the result as bits.
  if (name == "set" && !is_integer(match.other_type)) return false;
  if (name == "mov" && form.row->syntax.operands.size() == 2 && match.type == Type::b16)
    return form.row->syntax.operands[0].kind == OperandKind::destination &&
           form.row->syntax.operands[1].kind == OperandKind::source;
  return true;
}

char register_letter(int bits) {
  return bits == 16 ? 'h' : bits == 32 ? 'r' : bits == 64 ? 'd' : 'q';
}

std::string register_of(Random& random, int bits) {
  const RegisterCounts& counts = kRegisters;
  const unsigned count = bits == 1    ? counts.p
                         : bits == 16 ? counts.h
                         : bits == 32 ? counts.r
                         : bits == 64 ? counts.d
                                      : counts.q;
  return format_text("%{}{}", bits == 1 ? 'p' : register_letter(bits), random.below(count));
}

bool has_immediates(Type type) {
  return type != Type::f16 && type != Type::bf16 && type != Type::f16x2 && type != Type::bf16x2 &&
         sim::bits(type) <= 64 && sim::bits(type) >= 16;
}

constexpr std::array<std::uint64_t, 12> kWords = {0,  1,   2,          7,          31,         32,
                                                  33, 255, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000};

class Writer {
 public:
  Writer(Random& random, const Form& form)
      : random_(random), form_(form), match_(form.match()), name_(form.row->syntax.mnemonic) {}

  std::string text() {
    std::string out(name_);
    for (const std::string_view word : form_.modifiers) out.append(".").append(word);
    std::string_view separator = " ";
    for (const OperandSyntax& operand : form_.row->syntax.operands) {
      const std::string one = written(operand);
      if (one.empty()) continue;
      out.append(separator).append(one);
      separator = ", ";
    }
    return out + ";";
  }

 private:
  std::string written(const OperandSyntax& operand) {
    const bool last = &operand == &form_.row->syntax.operands.back();
    switch (operand.kind) {
      case OperandKind::carry:
        return {};
      case OperandKind::destination:
        return register_of(random_, width(operand));
      case OperandKind::predicate:
        return register_of(random_, 1);
      case OperandKind::predicate_pair:
        return two_predicates();
      case OperandKind::destination_and_predicate:
        return register_of(random_, 32) +
               (name_ == "lop3" || random_.chance(50) ? "|" + register_of(random_, 1) : "");
      case OperandKind::vector:
      case OperandKind::strict_vector:
        return vector(operand);
      case OperandKind::address:
        address_written_ = true;
        return address();
      case OperandKind::address_register:  // of instructions that need others around them
        return {};
      case OperandKind::constant:
        return format_text("{}", random_.below(256));
      case OperandKind::source:
        return source(operand, last);
    }
    return {};
  }

  std::string source(const OperandSyntax& operand, bool last) {
    const unsigned number = sources_++;
    if (operand.type == OperandType::pred)
      return (may_negate() && random_.chance(30) ? "!" : "") + register_of(random_, 1);
    if (operand.optional && operand.type == OperandType::u64)
      return match_.has("L2::cache_hint") ? "%policy" : "";
    if (is_warp() && last) return "0xffffffff";
    if (name_ == "bar" || name_ == "barrier") {
      if (operand.optional && random_.chance(50)) return {};
      return number == 0 ? format_text("{}", random_.below(4)) : format_text("{}", kBlockThreads);
    }
    if (name_ == "isspacep") return random_.of(std::span<const std::string_view>(kGeneric)).data();
    if (name_ == "fns" && number == 1) return format_text("{}", random_.below(32));
    if (name_ == "fns" && number == 2)  // an H200 gives 0 for -2^31, and the manual says nothing of it
      return format_text("{}", static_cast<int>(random_.below(81)) - 40);
    const Type type = type_of(operand);
    // A driver cuts off large immediate distances of 16-bit shifts.
    if ((name_ == "shl" || name_ == "shr") && number == 1 && random_.chance(20))
      return format_text("{}", random_.below(256));
    if ((name_ == "shl" || name_ == "shr") && number == 1) return register_of(random_, width(operand));
    if ((name_ == "bfe" || name_ == "bfi") && operand.type == OperandType::u32 && random_.chance(20))
      return format_text("{}", random_.below(past_the_end_is_folded(number) ? 32 : 256));
    if (random_.chance(20) && operand.type != OperandType::any && has_immediates(type) && !only_registers())
      return immediate(type);
    return register_of(random_, width(operand));
  }

  // ptxas makes -1 of bfe.s32 from a constant position past the last bit, where the manual has the sign.
  bool past_the_end_is_folded(unsigned number) const {
    return name_ == "bfe" && match_.type == Type::s32 && number == 1;
  }
  bool is_warp() const {
    return one_of(name_, {"shfl", "vote", "match", "redux"}) || (name_ == "bar" && match_.has("warp"));
  }
  bool may_negate() const { return one_of(name_, {"setp", "set", "vote", "bar", "barrier"}); }

  // testp: of a constant the driver makes code without its guard.
  bool only_registers() const {
    return name_ == "testp" || name_ == "mov" || name_ == "bfe" || name_ == "bfi" ||
           match_.type == Type::u16x2 || match_.type == Type::s16x2 ||
           (name_ == "cvt" && match_.other_type == Type::f16x2);
  }

  std::string two_predicates() {
    const unsigned first = random_.below(kRegisters.p);
    const bool one_only = match_.type == Type::f16 || match_.type == Type::bf16;
    if (one_only || random_.chance(40)) return format_text("%p{}", first);
    return format_text("%p{}|%p{}", first, (first + 1 + random_.below(kRegisters.p - 1)) % kRegisters.p);
  }

  std::string immediate(Type type) {
    std::uint64_t bits = random_.chance(50) ? kWords[random_.below(kWords.size())] : random_.next();
    const int wide = sim::bits(type);
    if (type == Type::f32) return format_text("0f{:08x}", bits & 0xffffffffu);
    if (type == Type::f64) return format_text("0d{:016x}", bits * 0x3ff00001u);
    bits &= ~std::uint64_t{0} >> (64 - wide);
    return format_text("0x{:x}", bits);
  }

  // Distinct registers where they are written: the text does not say which write would win.
  std::string vector(const OperandSyntax& operand) {
    const bool is_source = name_ == "st" || name_ == "red" || address_written_ ||
                           (name_ == "mov" && &operand != &form_.row->syntax.operands.front());
    int count = match_.has("v2") ? 2 : match_.has("v4") ? 4 : match_.has("v8") ? 8 : 0;
    int bits = operand.type == OperandType::any ? any_width(operand) : sim::bits(match_.type);
    if (name_ == "mov") {
      const int whole = sim::bits(match_.type);
      count = whole == 32 || random_.chance(50) ? 2 : 4;
      bits = whole / count;
    }
    const unsigned all = bits == 16   ? kRegisters.h
                         : bits == 32 ? kRegisters.r
                         : bits == 64 ? kRegisters.d
                                      : kRegisters.q;
    const unsigned first = random_.below(all);
    std::string out = "{";
    for (int i = 0; i < count; ++i)
      out += format_text("{}%{}{}", i == 0 ? "" : ", ", register_letter(bits),
                         is_source ? random_.below(all) : (first + static_cast<unsigned>(i)) % all);
    return out + "}";
  }

  // Of this thread's own slot, or of what nobody writes.
  std::string address() {
    const int count = match_.has("v2") ? 2 : match_.has("v4") ? 4 : 1;
    const auto bytes = static_cast<unsigned>(std::max(sim::bits(match_.type) / 8, 1) * count);
    return format_text("[{}+{}]", base(), random_.below(kSlotBytes / bytes) * bytes);
  }
  std::string_view base() {
    if (match_.has("nc") || name_ == "ldu") return "%input";
    if (match_.has("global")) return "%global";
    if (match_.has("shared") || match_.has("shared::cta")) return "%shared";
    if (match_.has("local")) return "%local";
    if (match_.has("const")) return "%const";
    const bool hinted = std::any_of(
        form_.modifiers.begin(), form_.modifiers.end(),
        [](std::string_view word) { return word.starts_with("L1::") || word.starts_with("L2::"); });
    const bool global_only = hinted || name_ == "prefetch" ||
                             ((name_ == "atom" || name_ == "red") &&
                              (match_.has("v2") || match_.has("v4") || is_half(match_.type)));
    const bool weak = name_ == "ld" || name_ == "st"
                          ? !match_.has("relaxed") && !match_.has("acquire") && !match_.has("release")
                          : false;
    return kGeneric[global_only ? 0 : random_.below(weak ? 3 : 2)];
  }

  Type type_of(const OperandSyntax& operand) const {
    switch (operand.type) {
      case OperandType::type:
        return match_.type;
      case OperandType::other_type:
        return match_.other_type;
      case OperandType::wide:
        return sim::bits(match_.type) == 16 ? Type::u32 : Type::u64;
      case OperandType::u16:
        return Type::u16;
      case OperandType::u64:
        return Type::u64;
      case OperandType::b128:
        return Type::b128;
      default:
        return Type::u32;
    }
  }
  int width(const OperandSyntax& operand) {
    return operand.type == OperandType::any ? any_width(operand) : sim::bits(type_of(operand));
  }
  // A register at least as wide as the value.
  int any_width(const OperandSyntax& operand) {
    const bool converts_to = name_ == "cvt" && operand.kind == OperandKind::destination;
    const int least = std::max(16, sim::bits(converts_to ? match_.other_type : match_.type));
    if (least == 128 ||
        name_ == "st" ||  // what a driver stores of a wider register is not its low part always
        (name_ == "cvt" && (is_bfloat(match_.type) || is_bfloat(match_.other_type))))
      return least;
    int bits = least;
    while (bits < 64 && random_.chance(25)) bits *= 2;
    return bits;
  }

  static constexpr std::array<std::string_view, 3> kGeneric = {"%global", "%generic_shared",
                                                               "%generic_local"};
  Random& random_;
  const Form& form_;
  const Match match_;
  const std::string_view name_;
  unsigned sources_ = 0;
  bool address_written_ = false;
};

}  // namespace

std::string_view why_not_drawn(const sim::OpcodeRow& row) {
  if (row.bind == nullptr) return "control: made as branches, loops and calls";
  for (const Exclusion& one : kExclusions)
    if (row.syntax.starts_with(one.start)) return one.why;
  return {};
}

std::vector<DrawnRow> drawn_rows(std::span<const sim::OpcodeRow> family) {
  std::vector<DrawnRow> rows;
  for (const sim::OpcodeRow& row : family)
    if (why_not_drawn(row).empty()) rows.push_back({&row, sim::compile_syntax(row.syntax)});
  return rows;
}

bool draw_form(Random& random, const DrawnRow& row, Form* form) {
  for (int attempt = 0; attempt < 40; ++attempt) {
    *form = {&row, {}};
    for (const sim::ModifierGroup& group : row.syntax.modifiers) {
      // Long lists of optional hints would otherwise leave hardly any plain instruction.
      if (group.optional && random.chance(row.syntax.modifiers.size() > 5 ? 75 : 50)) continue;
      form->modifiers.push_back(group.words[random.below(group.words.size())]);
    }
    if (row.row->bind(form->match()).full != nullptr && h200_takes(*form)) return true;
  }
  return false;
}

std::string instruction_text(Random& random, const Form& form) {
  return Writer(random, form).text();
}

}  // namespace gpuforge::ptx_files
