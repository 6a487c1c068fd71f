#include "tests/ptx/random_kernel.h"

#include <array>
#include <cstring>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/table.h"
#include "tests/ptx/random_instruction.h"

namespace gpuforge::ptx_files {
namespace {

// What a thread reads at the start and leaves at the end: its registers, widest first, then a spare part.
constexpr unsigned kWordsOffset = 8 * kRegisters.d;
constexpr unsigned kHalvesOffset = kWordsOffset + 4 * kRegisters.r;
constexpr unsigned kPredicatesOffset = kHalvesOffset + 2 * ((kRegisters.h + 1) / 2 * 2);
constexpr unsigned kRecordBytes = 256;
constexpr unsigned kTraceOffset = (kPredicatesOffset + 4 + 7) / 8 * 8;
static_assert(kTraceOffset + 8 + kSlotBytes <= kRecordBytes);
constexpr unsigned kThreads = kRandomShape.blocks * kRandomShape.threads;
static_assert(kRandomShape.threads == kBlockThreads);

// ---- The parts every kernel has ------------------------------------------------------------------------

constexpr std::string_view kHeader = R"(.version 8.6
.target sm_90a
.address_size 64

.const .align 16 .b32 table[16] = {0, 1, 0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000, 0x7f800000, 0x7fc00001,
                                   0x00000001, 0x007fffff, 0x3c003c00, 0x7c00fc00, 0x12345678, 0xdeadbeef, 31, 32};

.func (.param .b32 result) mixed(.param .b32 a, .param .b64 b)
{
  .reg .b32 %a, %low, %high;
  .reg .b64 %b;
  .reg .pred %odd;
  ld.param.b32 %a, [a];
  ld.param.b64 %b, [b];
  mov.b64 {%low, %high}, %b;
  and.b32 %high, %high, 1;
  setp.ne.u32 %odd, %high, 0;
  @%odd bra ODD;
  mad.lo.u32 %a, %a, 1664525, %low;
  st.param.b32 [result], %a;
  ret;
ODD:
  xor.b32 %a, %a, %low;
  st.param.b32 [result], %a;
  ret;
}
)";

std::string declarations() {
  return format_text(
      "  .reg .pred %p<{}>, %condition;\n  .reg .b16 %h<{}>;\n  .reg .b32 %r<{}>, %thread, %number, %index, "
      "%w<4>, "
      "%loop<4>;\n"
      "  .reg .b64 %d<{}>, %input, %output, %global, %shared, %generic_shared, %local, %generic_local, "
      "%const, "
      "%policy, %at, %there, %trace;\n"
      "  .reg .b128 %q<{}>;\n"
      "  .shared .align 16 .b8 exchange[{}];\n  .shared .align 16 .b8 counters[16];\n  .local .align 16 .b8 "
      "own[{}];\n",
      kRegisters.p, kRegisters.h, kRegisters.r, kRegisters.d, kRegisters.q, kSlotBytes * kBlockThreads,
      kSlotBytes);
}

std::string prologue() {
  std::string text = format_text(
      "  mov.u32 %thread, %tid.x;\n  mov.u32 %number, %ctaid.x;\n  mad.lo.u32 %number, %number, {}, "
      "%thread;\n"
      "  ld.param.u64 %input, [input];\n  mad.wide.u32 %input, %number, {}, %input;\n"
      "  ld.param.u64 %output, [output];\n  mad.wide.u32 %output, %number, {}, %output;\n"
      "  ld.param.u64 %global, [scratch];\n  cvta.to.global.u64 %global, %global;\n"
      "  mad.wide.u32 %global, %number, {}, %global;\n"
      "  mov.u64 %shared, exchange;\n  mad.wide.u32 %shared, %thread, {}, %shared;\n"
      "  cvta.shared.u64 %generic_shared, %shared;\n"
      "  mov.u64 %local, own;\n  cvta.local.u64 %generic_local, %local;\n  mov.u64 %const, table;\n"
      "  createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;\n",
      kBlockThreads, kRecordBytes, kRecordBytes, kSlotBytes, kSlotBytes);
  for (unsigned i = 0; i < kRegisters.d; ++i)
    text += format_text("  ld.global.b64 %d{}, [%input+{}];\n", i, 8 * i);
  for (unsigned i = 0; i < kRegisters.r; ++i)
    text += format_text("  ld.global.b32 %r{}, [%input+{}];\n", i, kWordsOffset + 4 * i);
  for (unsigned i = 0; i < kRegisters.h; ++i)
    text += format_text("  ld.global.b16 %h{}, [%input+{}];\n", i, kHalvesOffset + 2 * i);
  for (unsigned i = 0; i < kRegisters.p; ++i)
    text += format_text("  setp.lt.s32 %p{}, %r{}, {};\n", i, i, static_cast<int>(i) * 1000 - 1000);
  for (unsigned i = 0; i < kRegisters.q; ++i)
    text += format_text("  mov.b128 %q{}, {{%d{}, %d{}}};\n", i, i, i + 1);
  for (unsigned i = 0; i < kSlotBytes / 8; ++i)
    text += format_text("  st.shared.b64 [%shared+{}], %d{};\n  st.local.b64 [%local+{}], %d{};\n", 8 * i,
                        i % kRegisters.d, 8 * i, (i + 3) % kRegisters.d);
  text += "  setp.eq.u32 %condition, %thread, 0;\n  mov.u64 %at, counters;\n";
  for (unsigned i = 0; i < 4; ++i) text += format_text("  @%condition st.shared.b32 [%at+{}], 0;\n", 4 * i);
  return text + "  mov.b64 %trace, 0;\n  bar.sync 0;\n\n";
}

std::string epilogue() {
  std::string text = "\n";
  for (unsigned i = 0; i < kRegisters.d; ++i)
    text += format_text("  st.global.b64 [%output+{}], %d{};\n", 8 * i, i);
  for (unsigned i = 0; i < kRegisters.r; ++i)
    text += format_text("  st.global.b32 [%output+{}], %r{};\n", kWordsOffset + 4 * i, i);
  for (unsigned i = 0; i < kRegisters.h; ++i)
    text += format_text("  st.global.b16 [%output+{}], %h{};\n", kHalvesOffset + 2 * i, i);
  text += "  mov.b32 %w0, 0;\n";
  for (unsigned i = 0; i < kRegisters.p; ++i)
    text += format_text("  selp.b32 %w1, {}, 0, %p{};\n  or.b32 %w0, %w0, %w1;\n", 1u << i, i);
  text += format_text("  st.global.b32 [%output+{}], %w0;\n  st.global.b64 [%output+{}], %trace;\n",
                      kPredicatesOffset, kTraceOffset);
  // The slots in shared and local memory, mixed, so that both show.
  for (unsigned i = 0; i < kSlotBytes / 8; ++i)
    text += format_text(
        "  ld.shared.b64 %at, [%shared+{}];\n  ld.local.b64 %there, [%local+{}];\n"
        "  shl.b64 %there, %there, 1;\n  xor.b64 %at, %at, %there;\n  st.global.b64 [%output+{}], %at;\n",
        8 * i, 8 * i, kRecordBytes - kSlotBytes + 8 * i);
  // The 128-bit registers and the counters, added to what lies in this thread's slot.
  text +=
      "  mov.b128 {%at, %there}, %q0;\n  ld.global.b64 %d0, [%global];\n  xor.b64 %at, %at, %there;\n"
      "  add.u64 %d0, %d0, %at;\n  mov.b128 {%at, %there}, %q1;\n  add.u64 %d0, %d0, %at;\n"
      "  xor.b64 %d0, %d0, %there;\n  bar.sync 0;\n  mov.u64 %at, counters;\n";
  for (unsigned i = 0; i < 4; ++i)
    text +=
        format_text("  ld.shared.b32 %w0, [%at+{}];\n  mad.wide.u32 %d0, %w0, {}, %d0;\n", 4 * i, 2 * i + 3);
  return text + "  st.global.b64 [%global], %d0;\n  ret;\n";
}

// What an instruction wrote goes into %trace, so that it shows even when the register is written again.
std::string traced(std::string_view instruction) {
  const std::size_t space = instruction.find(' ');
  if (space == instruction.npos) return {};
  std::string_view destination = instruction.substr(space + 1);
  destination = destination.substr(0, destination.find(destination.starts_with('{') ? '}' : ','));
  if (destination.find('[') != destination.npos) return {};
  std::string text;
  const auto mix = [&](std::string_view part) {
    text += format_text("  mad.lo.u64 %trace, %trace, 0x100000001b3, {};\n", part);
  };
  for (std::size_t at = destination.find('%'); at != destination.npos; at = destination.find('%', at + 1)) {
    const std::string_view name = destination.substr(at, destination.substr(at).find_first_of(",| ;}"));
    switch (name[1]) {
      case 'p':
        text += format_text("  selp.b64 %at, 1, 0, {};\n", name);
        break;
      case 'h':
        text += format_text("  cvt.u64.u16 %at, {};\n", name);
        break;
      case 'r':
        text += format_text("  cvt.u64.u32 %at, {};\n", name);
        break;
      case 'q':
        text += format_text("  mov.b128 {{%at, %there}}, {};\n", name);
        mix("%there");
        break;
      default:
        text += format_text("  mov.b64 %at, {};\n", name);
    }
    mix("%at");
  }
  return text;
}

// ---- The random part -----------------------------------------------------------------------------------

struct Family {
  std::vector<DrawnRow> rows;
  unsigned weight = 1;
};

enum class Where : std::uint8_t { together, apart };  // all threads of the block, or some of them

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed * 0x2545f4914f6cdd1du + 1) {
    using namespace sim;
    add(integer_rows(), 5);
    add(logic_rows(), 4);
    add(compare_rows(), 4);
    add(move_rows(), 2);
    add(float32_rows(), 5);
    add(float64_rows(), 4);
    add(half_rows(), 5);
    add(convert_rows(), 6);
    add(load_store_rows(), 3);
    add(atomic_rows(), 3);
    add(control_rows(), 1);
    carry_ = drawn_rows(carry_rows());
    warp_ = drawn_rows(warp_rows());
    barrier_ = drawn_rows(barrier_rows());
  }

  std::vector<Piece> body() { return pieces(30 + random_.below(50), Where::together, 0); }

 private:
  void add(std::span<const sim::OpcodeRow> rows, unsigned weight) {
    families_.push_back({drawn_rows(rows), weight});
    weights_ += weight;
  }

  std::vector<Piece> pieces(unsigned count, Where where, unsigned depth) {
    std::vector<Piece> list;
    for (unsigned i = 0; i < count; ++i) list.push_back(piece(where, depth));
    return list;
  }

  Piece piece(Where where, unsigned depth) {
    const unsigned kind = random_.below(100);
    if (depth < 3 && kind < 4) return branch(depth);
    if (depth < 3 && kind < 7) return loop(where, depth);
    if (depth < 2 && kind < 8) return indexed_branch(depth);
    if (kind < 11) return {carry_chain(), {}, ""};
    if (kind < 13) return {call(), {}, ""};
    if (kind < 15) return {local_element(), {}, ""};
    if (where == Where::together && kind < 23) return {instruction(warp_, false), {}, ""};
    if (where == Where::together && kind < 25) return {instruction(barrier_, false), {}, ""};
    if (where == Where::together && kind < 29) return {exchange(), {}, ""};
    if (kind < 31) return {counter(), {}, ""};
    unsigned at = random_.below(weights_);
    for (const Family& family : families_) {
      if (at < family.weight) return {instruction(family.rows, true), {}, ""};
      at -= family.weight;
    }
    return {};
  }

  std::string instruction(const std::vector<DrawnRow>& rows, bool guarded) {
    Form form;
    while (!draw_form(random_, rows[random_.below(rows.size())], &form)) {
    }
    // The code that a driver makes of these writes under a false guard, or treats NaNs differently under one.
    constexpr std::string_view kUnguarded[] = {"testp", "set", "abs", "neg"};
    guarded = guarded && std::find(std::begin(kUnguarded), std::end(kUnguarded), form.row->syntax.mnemonic) ==
                             std::end(kUnguarded);
    const std::string text = instruction_text(random_, form);
    return "  " + (guarded ? guard() : "") + text + "\n" + with_one_nan(form, text) + traced(text);
  }
  // Which payload a NaN has depends on the order an assembler gave the operands: each becomes the same one.
  static std::string with_one_nan(const Form& form, const std::string& text) {
    const sim::Match match = form.match();
    const std::string_view name = form.row->syntax.mnemonic;
    const sim::Type type = name == "cvt" ? match.other_type : match.type;
    const std::size_t at = text.find(' ') + 1;
    const std::string to = text.substr(at, text.find_first_of(",;", at) - at);
    if (name == "set" || name == "setp" || to.empty() || to[0] != '%' || to[1] == 'p') return {};
    const auto replaced = [&](std::string_view format, int bits, std::string_view nan) {
      return format_text("  setp.nan.{} %condition, {}, {};\n  @%condition mov.b{} {}, {};\n", format, to, to,
                         bits, to, nan);
    };
    switch (type) {
      case sim::Type::f64:
        return to[1] == 'd' ? replaced("f64", 64, "0x7ff8000000000000") : "";
      case sim::Type::f32:
        return to[1] == 'r' ? replaced("f32", 32, "0x7fffffff") : "";
      case sim::Type::f16:
        return to[1] == 'h' ? replaced("f16", 16, "0x7fff") : "";
      case sim::Type::bf16:
        return to[1] == 'h' ? replaced("bf16", 16, "0x7fff") : "";
      default:
        return {};
    }
  }
  std::string guard() {
    if (!random_.chance(15)) return "";
    return format_text("@{}%p{} ", random_.chance(50) ? "!" : "", random_.below(kRegisters.p));
  }

  // Additions or subtractions whose carry goes on; the flag is nobody else's.
  std::string carry_chain() {
    const bool subtracts = random_.chance(40);
    std::string text, results;
    const unsigned length = 2 + random_.below(4);
    for (unsigned i = 0; i < length; ++i) {
      Form form;
      do {
        while (!draw_form(random_, carry_[random_.below(carry_.size())], &form)) {
        }
      } while (!fits_in_chain(form, subtracts, i == 0, i + 1 == length));
      const std::string one = instruction_text(random_, form);
      text += "  " + one + "\n";
      results += traced(one);
    }
    return text + results;
  }
  static bool fits_in_chain(const Form& form, bool subtracts, bool first, bool last) {
    const std::string_view name = form.row->syntax.mnemonic;
    const bool reads = name.ends_with('c'), writes = form.match().has("cc");
    return name.starts_with("sub") == subtracts && reads != first && (writes || last);
  }

  Piece branch(unsigned depth) {
    const unsigned label = labels_++;
    const unsigned p = random_.below(kRegisters.p);
    Piece yes{"", pieces(1 + random_.below(5), Where::apart, depth + 1),
              format_text("  bra END{};\nELSE{}:\n", label, label)};
    Piece no{"", pieces(random_.below(4), Where::apart, depth + 1), ""};
    Piece whole{format_text("  @{}%p{} bra ELSE{};\n", random_.chance(50) ? "!" : "", p, label),
                {},
                format_text("END{}:\n", label)};
    // One piece, because a branch without its label would be none; what it encloses may go.
    whole.inside = std::move(yes.inside);
    whole.inside.push_back({yes.end, {}, "", true});
    for (Piece& one : no.inside) whole.inside.push_back(std::move(one));
    return whole;
  }

  Piece loop(Where where, unsigned depth) {
    const unsigned label = labels_++;
    const bool by_data = where == Where::apart || random_.chance(40);
    Piece whole;
    whole.begin = by_data ? format_text("  and.b32 %loop{}, %r{}, 3;\nLOOP{}:\n", depth,
                                        random_.below(kRegisters.r), label)
                          : format_text("  mov.b32 %loop{}, {};\nLOOP{}:\n", depth, random_.below(3), label);
    whole.inside = pieces(1 + random_.below(5), by_data ? Where::apart : where, depth + 1);
    whole.end = format_text(
        "  sub.u32 %loop{}, %loop{}, 1;\n  setp.ge.s32 %condition, %loop{}, 0;\n  @%condition bra{} "
        "LOOP{};\n",
        depth, depth, depth, by_data ? "" : ".uni", label);
    return whole;
  }

  Piece indexed_branch(unsigned depth) {
    const unsigned label = labels_++;
    Piece whole;
    whole.begin = format_text(
        "  and.b32 %index, %r{}, 3;\nTARGETS{}: .branchtargets CASE_A{}, CASE_B{}, CASE_C{}, CASE_A{};\n  "
        "brx.idx %index, "
        "TARGETS{};\n",
        random_.below(kRegisters.r), label, label, label, label, label, label);
    for (const char arm : {'A', 'B', 'C'}) {
      whole.inside.push_back({format_text("CASE_{}{}:\n", arm, label), {}, "", true});
      for (Piece& one : pieces(1 + random_.below(2), Where::apart, depth + 1))
        whole.inside.push_back(std::move(one));
      whole.inside.push_back({format_text("  bra JOIN{};\n", label), {}, "", true});
    }
    whole.end = format_text("JOIN{}:\n", label);
    return whole;
  }

  std::string call() {
    return format_text(
        "  {{\n  .param .b32 a0;\n  .param .b64 a1;\n  .param .b32 back;\n  st.param.b32 [a0], %r{};\n"
        "  st.param.b64 [a1], %d{};\n  call.uni (back), mixed, (a0, a1);\n  ld.param.b32 %r{}, [back];\n  "
        "}}\n",
        random_.below(kRegisters.r), random_.below(kRegisters.d), random_.below(kRegisters.r));
  }

  // An element of the array in local memory, chosen by data.
  std::string local_element() {
    std::string text = format_text(
        "  and.b32 %index, %r{}, {};\n  cvt.u64.u32 %at, %index;\n  add.u64 %at, %at, %{}local;\n",
        random_.below(kRegisters.r), kSlotBytes - 4, random_.chance(50) ? "generic_" : "");
    const std::string space = text.find("%generic_local") != text.npos ? "" : ".local";
    if (random_.chance(50))
      return text + format_text("  st{}.b32 [%at], %r{};\n", space, random_.below(kRegisters.r));
    return text + format_text("  ld{}.b32 %r{}, [%at];\n", space, random_.below(kRegisters.r));
  }

  // Everybody's words in shared memory, read by others between two barriers.
  std::string exchange() {
    const unsigned r = random_.below(kRegisters.r), offset = 4 * random_.below(kSlotBytes / 4);
    return format_text(
        "  st.shared.b32 [%shared+{}], %r{};\n  bar.sync 0;\n  xor.b32 %index, %thread, {};\n  mov.u64 %at, "
        "exchange;\n"
        "  mad.wide.u32 %at, %index, {}, %at;\n  ld.shared.b32 %r{}, [%at+{}];\n  bar.sync 0;\n",
        offset, r, 1 + random_.below(kBlockThreads - 1), kSlotBytes, random_.below(kRegisters.r), offset);
  }

  // Sums and the like that do not depend on the order; each counter has one operation.
  std::string counter() {
    constexpr std::array<std::string_view, 4> kOperations = {"add.u32", "xor.b32", "max.s32", "or.b32"};
    const unsigned i = random_.below(kOperations.size());
    return format_text("  mov.u64 %at, counters;\n  {}red.shared.{} [%at+{}], %r{};\n", guard(),
                       kOperations[i], 4 * i, random_.below(kRegisters.r));
  }

  Random random_;
  std::vector<Family> families_;
  unsigned weights_ = 0;
  std::vector<DrawnRow> carry_, warp_, barrier_;
  unsigned labels_ = 0;
};

std::string text_of(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& one : pieces) text += one.begin + text_of(one.inside) + one.end;
  return text;
}

// ---- Inputs --------------------------------------------------------------------------------------------

constexpr std::array<std::uint16_t, 20> kHalves = {
    0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x7bff,   // f16
    0x7c00, 0xfc00, 0x7c01, 0x7e05, 0xffff, 0x3f80, 0xff80, 0x7f80, 0x007f, 0x7fff};  // bf16 too
constexpr std::array<std::uint32_t, 26> kSingles = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000,
    0xbf800000, 0x3f800001, 0x3f7fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7f800001, 0x7fc00123, 0xffc00000, 0xffffffff, 0x7fffffff, 0x4b000000, 0x4f000000,
    0x5f000000, 31,         32,         0x33800000, 0xcf000000};
constexpr std::array<std::uint64_t, 24> kDoubles = {0,
                                                    0x8000000000000000,
                                                    1,
                                                    0x000fffffffffffff,
                                                    0x0010000000000000,
                                                    0x3ff0000000000000,
                                                    0xbff0000000000000,
                                                    0x3ff0000000000001,
                                                    0x3fefffffffffffff,
                                                    0x7fefffffffffffff,
                                                    0x7ff0000000000000,
                                                    0xfff0000000000000,
                                                    0x7ff0000000000001,
                                                    0x7ff8000000000123,
                                                    0xfff8000000000000,
                                                    0xffffffffffffffff,
                                                    0x7fffffffffffffff,
                                                    0x4330000000000000,
                                                    0x43e0000000000000,
                                                    0x41dfffffffc00000,
                                                    0x36a0000000000000,
                                                    0x47efffffefffffff,
                                                    63,
                                                    64};

std::uint16_t random_half(Random& random) {
  return random.chance(60) ? kHalves[random.below(kHalves.size())]
                           : static_cast<std::uint16_t>(random.next());
}
std::uint32_t random_single(Random& random) {
  const unsigned kind = random.below(100);
  if (kind < 45) return kSingles[random.below(kSingles.size())];
  if (kind < 60)
    return static_cast<std::uint32_t>(random_half(random)) | static_cast<std::uint32_t>(random_half(random))
                                                                 << 16;
  if (kind < 70) return std::uint32_t{1} << random.below(32);
  if (kind < 80) return random.below(64) - 32;
  if (kind < 90)
    return (0x3f800000u + (random.below(40) - 20) * 0x800000u) ^
           (static_cast<std::uint32_t>(random.next()) & 0x807fffffu);
  return static_cast<std::uint32_t>(random.next());
}
std::uint64_t random_double(Random& random) {
  const unsigned kind = random.below(100);
  if (kind < 45) return kDoubles[random.below(kDoubles.size())];
  if (kind < 60) return random_single(random) | static_cast<std::uint64_t>(random_single(random)) << 32;
  if (kind < 70) return std::uint64_t{1} << random.below(64);
  if (kind < 80) return std::uint64_t{random.below(64)} - 32;
  if (kind < 90)
    return (0x3ff0000000000000u + (std::uint64_t{random.below(60)} - 30) * 0x10000000000000u) ^
           (random.next() & 0x800fffffffffffffu);
  return random.next();
}

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

}  // namespace

RandomKernel make_kernel(std::uint64_t seed) {
  return {seed, Maker(seed).body()};
}

std::string entry_of(const RandomKernel& kernel) {
  return format_text("kernel_{}", kernel.seed);
}

std::string module_of(std::span<const RandomKernel> kernels) {
  std::string text(kHeader);
  for (const RandomKernel& kernel : kernels)
    text += format_text(
                "\n.visible .entry {}(.param .u64 input, .param .u64 scratch, .param .u64 output)\n.reqntid "
                "{}, 1, 1\n{{\n",
                entry_of(kernel), kBlockThreads) +
            declarations() + prologue() + text_of(kernel.pieces) + epilogue() + "}\n";
  return text;
}

std::vector<Bytes> buffers_of(const RandomKernel& kernel) {
  Random random(kernel.seed);
  std::vector<Bytes> buffers{Bytes(kThreads * kRecordBytes), Bytes(kThreads * kSlotBytes),
                             Bytes(kThreads * kRecordBytes)};
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    const std::size_t record = std::size_t{thread} * kRecordBytes;
    for (unsigned i = 0; i < kRecordBytes / 8; ++i) put(buffers[0], record + 8 * i, random_double(random));
    for (unsigned i = 0; i < kRegisters.r; ++i)
      put(buffers[0], record + kWordsOffset + 4 * i, random_single(random));
    for (unsigned i = 0; i < kRegisters.h; ++i)
      put(buffers[0], record + kHalvesOffset + 2 * i, random_half(random));
    for (unsigned i = 0; i < kSlotBytes / 8; ++i)
      put(buffers[1], std::size_t{thread} * kSlotBytes + 8 * i, random_double(random));
  }
  return buffers;
}

}  // namespace gpuforge::ptx_files
