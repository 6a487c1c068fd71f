#include "tests/sim/seeded_bug.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/format.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge {
std::span<const EmbeddedFile> sim_bug_files();  // made from the .cu files when this is built
}

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;
using sim::FindingKind;

constexpr auto kAlignment = std::align_val_t{256};  // what a GPU's allocations have

using Lines = std::set<std::pair<std::string, std::uint32_t>>;  // "race@shared", line

struct Marks {
  Lines expected;
  Lines possible;  // what follows from the bug under some schedules
};

Marks marks_of(const std::string& file, const std::string& kernel) {
  Marks marks;
  std::istringstream text(text_of(file));
  std::string line;
  const std::string mark = "// BUG(" + kernel + "): ";
  for (std::uint32_t number = 1; std::getline(text, line); ++number) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    std::istringstream kinds(line.substr(at + mark.size()));
    for (std::string kind; kinds >> kind;) {
      const bool certain = kind.back() != '?';
      if (!certain) kind.pop_back();
      const bool alone = line.find_first_not_of(' ') == at;  // on a line of its own: the next one is meant
      (certain ? marks.expected : marks.possible).emplace(kind, alone ? number + 1 : number);
    }
  }
  return marks;
}

bool inside(const sim::Index3& index, const sim::Index3& extent) {
  return index.x < extent.x && index.y < extent.y && index.z < extent.z;
}

// clang 16 gives a store that it made of several the line of what follows.
void check_finding(const SeededBug& bug, const Finding& finding, const Marks& marks, bool by_clang_16,
                   Lines& seen) {
  std::string kind(sim::name(finding.kind));
  if (!finding.space.empty()) kind += "@" + finding.space;
  const auto expect_line = [&](const sim::Place& place) {
    const auto is_marked = [&](std::uint32_t line) {
      return marks.expected.contains({kind, line}) || marks.possible.contains({kind, line});
    };
    const bool late = by_clang_16 && !is_marked(place.line) && is_marked(place.line - 1);
    const std::uint32_t line = late ? place.line - 1 : place.line;
    EXPECT_TRUE(place.file.ends_with(bug.setup.file)) << "in '" << place.file << "'";
    EXPECT_TRUE(is_marked(line)) << kind << " is not marked at line " << line;
    EXPECT_GT(place.ptx_line, 0u);
    EXPECT_NE(place.instruction, "");
    if (marks.expected.contains({kind, line})) seen.emplace(kind, line);
  };
  expect_line(finding.place);
  EXPECT_NE(finding.message, "");
  EXPECT_GE(finding.count, 1u);
  EXPECT_TRUE(inside(finding.block, bug.setup.geometry.grid));
  EXPECT_TRUE(inside(finding.thread, bug.setup.geometry.block));
  if (finding.kind == FindingKind::race) {
    expect_line(finding.other);
    EXPECT_TRUE(inside(finding.other_block, bug.setup.geometry.grid));
    EXPECT_TRUE(inside(finding.other_thread, bug.setup.geometry.block));
    EXPECT_TRUE(finding.thread != finding.other_thread || finding.block != finding.other_block)
        << "a thread races with itself";
  }
}

// A kernel's text with one thing weakened that orders its threads.
struct Weakened {
  std::string text;
  std::string what;
};

std::vector<Weakened> weakened(const Case& setup, const std::string& text) {
  struct Rule {
    std::regex what;
    const char* instead;
    bool between_blocks;
  };
  static const Rule rules[] = {
      {std::regex(R"((__syncthreads|__syncwarp|__threadfence(_block)?)\([a-z]*\);)"), ";", false},
      {std::regex(R"(fence\.[a-z_]+\.[a-z]+;)"), "", false},
      {std::regex(R"((ld|st|atom|red)\.(acquire|release|acq_rel)\.)"), "$1.relaxed.", false},
      {std::regex(R"(__threadfence\(\))"), "__threadfence_block()", true},
      {std::regex(R"((fence|ld|st|atom|red)\.([a-z_]+)\.gpu)"), "$1.$2.cta", true},
  };
  const std::size_t begin = text.find("void " + setup.kernel + "(");
  const std::string kernel = text.substr(begin, text.find("\n}\n", begin) - begin);
  std::vector<Weakened> all;
  for (const Rule& rule : rules) {
    if (rule.between_blocks && setup.geometry.grid.x == 1) continue;
    for (std::sregex_iterator one(kernel.begin(), kernel.end(), rule.what); one != std::sregex_iterator();
         ++one) {
      const auto at = static_cast<std::size_t>(one->position());
      const std::string rest = kernel.substr(at, kernel.find('\n', at) - at);
      if (rest.find("// spare") != std::string::npos) continue;
      const std::string instead = one->format(rule.instead);
      Weakened without{text, one->str() + " to " + instead};
      without.text.replace(begin + at, static_cast<std::size_t>(one->length()), instead);
      const auto line =
          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin + at), '\n');
      without.what += format_text(" in line {}", line);
      all.push_back(std::move(without));
    }
  }
  return all;
}

// Without any one of its barriers and fences, or with a smaller scope, the kernel is wrong, and that is
// found.
void check_each_sync_is_needed(const Case& setup, const std::string& text, jit::CompilerChoice front_end) {
  for (const Weakened& one : weakened(setup, text)) {
    const auto compiled = compile(setup.file, one.text, {}, front_end);
    for (const std::uint64_t seed : kSeeds)
      EXPECT_FALSE(run(setup, *compiled, setup.kernel, seed).report.clean())
          << setup.kernel << " with " << one.what << ", schedule " << seed << ", by "
          << front_end_name(front_end);
  }
}

void check_through(const SeededBug& bug, jit::CompilerChoice front_end) {
  const Marks marks = marks_of(bug.setup.file, bug.setup.kernel);
  ASSERT_FALSE(marks.expected.empty()) << "no line is marked";
  const std::string wrong_name = bug.setup.kernel + "<true>", right_name = bug.setup.kernel + "<false>";
  const auto compiled = compile(bug.setup.file, text_of(bug.setup.file), {wrong_name, right_name}, front_end);
  Lines seen;
  for (const std::uint64_t seed : kSeeds) {
    SCOPED_TRACE(format_text("{} of {}, schedule {}, by {}", bug.setup.kernel, bug.setup.file, seed,
                             front_end_name(front_end)));
    Case seeded = bug.setup;
    if (bug.seed) bug.seed(seeded);
    const Ran wrong = run(seeded, *compiled, wrong_name, seed);
    EXPECT_FALSE(wrong.report.clean()) << "the bug was not found";
    for (const Finding& finding : wrong.report.findings) {
      check_finding(bug, finding, marks, compiled->compiler_version.starts_with("clang 16."), seen);
      if (bug.each) bug.each(finding, wrong);
    }
    if (testing::Test::HasFailure()) {  // the first schedule's findings say enough
      ADD_FAILURE() << wrong.report.findings_text(200);
      return;
    }
    const Ran right = run(bug.setup, *compiled, right_name, seed);
    EXPECT_TRUE(right.report.findings.empty()) << "the fixed kernel:\n" << right.report.findings_text(200);
    EXPECT_EQ(right.out, bug.expected) << "the fixed kernel's result";
    if (bug.fixed) bug.fixed(right);
  }
  EXPECT_EQ(seen, marks.expected) << "a marked line has no finding";
}

void check_silent_through(const Case& setup, const Words& expected, jit::CompilerChoice front_end) {
  const std::string text = text_of(setup.file);
  const auto compiled = compile(setup.file, text, {}, front_end);
  for (const std::uint64_t seed : kSeeds) {
    SCOPED_TRACE(format_text("{} of {}, schedule {}, by {}", setup.kernel, setup.file, seed,
                             front_end_name(front_end)));
    const Ran ran = run(setup, *compiled, setup.kernel, seed);
    EXPECT_TRUE(ran.report.findings.empty()) << ran.report.findings_text(200);
    if (!expected.empty()) {
      EXPECT_EQ(ran.out, expected);
    }
    if (testing::Test::HasFailure()) return;
  }
  check_each_sync_is_needed(setup, text, front_end);
}

}  // namespace

Words numbered(std::size_t count, std::uint32_t first) {
  Words words(count);
  std::iota(words.begin(), words.end(), first);
  return words;
}

Words filled(std::size_t count, std::uint32_t value) {
  return Words(count, value);
}

Buffer::Buffer(sim::Memory& memory, std::size_t bytes, const std::string& label, bool initialized)
    : memory_(memory), bytes_(bytes), data_(static_cast<std::byte*>(::operator new(bytes, kAlignment))) {
  memory_.add(address(), bytes, label, initialized);
}

Buffer::~Buffer() {
  free();
  ::operator delete(data_, kAlignment);
}

void Buffer::free() {
  if (!freed_) memory_.remove(address());
  freed_ = true;
}

std::string text_of(const std::string& file) {
  for (const EmbeddedFile& one : sim_bug_files())
    if (one.path.ends_with("/" + file)) return std::string(one.text);
  throw Error(ErrorCode::invalid_argument, format_text("no file {}", file));
}

std::vector<jit::CompilerChoice> front_ends() {
  std::vector<jit::CompilerChoice> present{jit::CompilerChoice::nvrtc};
  if (jit::find_clang(read_environment().path.value_or(""))) present.push_back(jit::CompilerChoice::clang);
  return present;
}

std::string_view front_end_name(jit::CompilerChoice front_end) {
  return front_end == jit::CompilerChoice::clang ? "clang" : "NVRTC";
}

std::shared_ptr<const jit::Compiled> compile(const std::string& file, const std::string& text,
                                             const std::vector<std::string>& expressions,
                                             jit::CompilerChoice front_end) {
  jit::JitOptions options;
  options.search = cuda::search_options(read_environment());
  options.program_path = read_environment().path;
  options.compiler = front_end;
  jit::KernelSource source{.name = file, .text = text};
  source.instantiations = expressions;
  jit::Jit jit(options, nullptr);
  return jit.compile(source, jit::Arch::parse("compute_90"));
}

Ran run(const Case& setup, const jit::Compiled& compiled, const std::string& expression, std::uint64_t seed) {
  const auto memory = std::make_shared<sim::Memory>();
  const auto program = sim::load_program(memory, compiled.ptx, setup.file);
  Buffer out(*memory, setup.out, "out", setup.out_initialized);
  Buffer in(*memory, setup.in, "in", setup.in_initialized);
  const std::uint64_t addresses[] = {out.address(), in.address()};
  if (setup.in_freed) in.free();
  const void* const arguments[] = {&addresses[0], &addresses[1], &setup.n};
  sim::Options options;
  options.schedule_seed = seed;
  options.step_limit = setup.step_limit;
  options.schedules = setup.schedules;
  options.host_threads = 2;  // must not change anything
  Ran ran;
  ran.report = sim::launch(*program, compiled.entry(expression).name, setup.geometry, arguments, options);
  ran.out = out.read<std::uint32_t>();
  ran.in = in.read<std::uint32_t>();
  ran.out_address = out.address();
  ran.in_address = in.address();
  return ran;
}

void check(const SeededBug& bug) {
  for (const jit::CompilerChoice front_end : front_ends()) check_through(bug, front_end);
}

void check_silent(const Case& setup, const Words& expected) {
  for (const jit::CompilerChoice front_end : front_ends()) check_silent_through(setup, expected, front_end);
}

}  // namespace gpuforge::sim_bugs
