#include "tests/ptx/random_kernel_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/ptx/parser.h"
#include "gpuforge/ptx/printer.h"
#include "gpuforge/sim/table.h"
#include "tests/ptx/random_instruction.h"
#include "tests/ptx/random_kernel.h"

namespace gpuforge::ptx_files {
namespace {

constexpr std::size_t kKernelsPerModule = 16;  // loading a module on a GPU costs more than running it
constexpr std::size_t kThreads = kRandomShape.blocks * kRandomShape.threads;

std::string words_text(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    text += format_text("{}{:016x}", at == 0 ? "" : " ", word);
  }
  return text;
}

// Where the words of two results differ first, and what that thread had read; or nothing.
std::string first_difference(const std::vector<Bytes>& expected, const std::vector<Bytes>& found) {
  constexpr std::array<std::string_view, 3> kNames = {"input", "scratch", "output"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto [a, b] = std::mismatch(expected[i].begin(), expected[i].end(), found[i].begin());
    if (a == expected[i].end()) continue;
    const std::size_t at = static_cast<std::size_t>(a - expected[i].begin()) / 8 * 8;
    const std::size_t thread = at / (expected[i].size() / kThreads), input = expected[0].size() / kThreads;
    return format_text("{} of thread {}, byte {}: {} and {}; input {}", kNames[i], thread,
                       at % (expected[i].size() / kThreads),
                       words_text(std::span(expected[i]).subspan(at, 8)),
                       words_text(std::span(found[i]).subspan(at, 8)),
                       words_text(std::span(expected[0]).subspan(thread * input, input)));
  }
  return {};
}

std::vector<Bytes> run_on_sim(const SimModule& module, const RandomKernel& kernel,
                              const sim::Options& options = {}) {
  std::vector<Bytes> buffers = buffers_of(kernel);
  const sim::LaunchReport report = module.run(entry_of(kernel), kRandomShape, buffers, options);
  if (!report.findings.empty())
    throw Error(ErrorCode::invalid_argument, format_text("findings:\n{}", report.findings_text()));
  return buffers;
}

std::string text_of(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& one : pieces) text += one.begin + text_of(one.inside) + one.end;
  return text;
}

// ---- Shrinking -----------------------------------------------------------------------------------------

// The pieces that may go, outermost first: each as the way to it.
void list_pieces(std::vector<Piece>& pieces, std::vector<std::pair<std::vector<Piece>*, std::size_t>>& all) {
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (!pieces[i].fixed) all.emplace_back(&pieces, i);
  for (Piece& one : pieces) list_pieces(one.inside, all);
}

// The smallest kernel found by leaving out pieces that still fails.
RandomKernel shrunk(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails) {
  for (std::size_t next = 0;;) {
    RandomKernel smaller = kernel;
    std::vector<std::pair<std::vector<Piece>*, std::size_t>> all;
    list_pieces(smaller.pieces, all);
    if (next >= all.size()) return kernel;
    all[next].first->erase(all[next].first->begin() + static_cast<std::ptrdiff_t>(all[next].second));
    if (fails(smaller))
      kernel = std::move(smaller);
    else
      ++next;
  }
}

void report(const RandomKernel& kernel, std::string_view what,
            const std::function<std::string(const RandomKernel&)>& problem) {
  const RandomKernel small = shrunk(kernel, [&](const RandomKernel& one) { return !problem(one).empty(); });
  ADD_FAILURE() << "seed " << kernel.seed << ": " << what << ": " << problem(small) << "\n"
                << text_of(small.pieces) << "in\n"
                << module_of(std::span(&small, 1));
}

// ---- The tests -----------------------------------------------------------------------------------------

// What is wrong with a kernel on the simulator alone.
std::string problem_on_sim(const RandomKernel& kernel) {
  try {
    const std::string text = module_of(std::span(&kernel, 1));
    const std::string printed = ptx::print(ptx::parse(text, "random.ptx"));
    if (ptx::print(ptx::parse(printed, "printed.ptx")) != printed) return "printing and parsing changes it";
    const SimModule module(text, "random.ptx"), again(printed, "printed.ptx");
    const std::vector<Bytes> results = run_on_sim(module, kernel);
    const std::pair<std::string_view, std::function<std::vector<Bytes>()>> others[] = {
        {"a second run", [&] { return run_on_sim(module, kernel); }},
        {"its printed text", [&] { return run_on_sim(again, kernel); }},
        {"another schedule", [&] { return run_on_sim(module, kernel, {.schedule_seed = 7}); }},
        {"no checks", [&] {
           return run_on_sim(module, kernel, {.races = false, .initialized = false, .counters = false});
         }}};
    for (const auto& [name, other] : others) {
      const std::string difference = first_difference(results, other());
      if (!difference.empty()) return format_text("{} gives another result: {}", name, difference);
    }
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

class RandomKernels : public testing::Test {
 public:
  explicit RandomKernels(const Seeds& seeds) : seeds_(seeds) {}

 protected:
  const Seeds seeds_;
};

class OnSim : public RandomKernels {
 public:
  using RandomKernels::RandomKernels;
  void TestBody() override {
    std::uint64_t failures = 0;
    for (std::uint64_t i = 0; i < seeds_.count && failures < seeds_.most_failures; ++i) {
      const RandomKernel kernel = make_kernel(seeds_.first + i);
      if (problem_on_sim(kernel).empty()) continue;
      ++failures;
      report(kernel, "on the simulator", problem_on_sim);
    }
  }
};

// Kernels that the assembler of driver 580 gets wrong, seen in its machine code or by what the GPU did. They
// run in the simulator all the same.
constexpr std::pair<std::uint64_t, std::string_view> kMiscompiled[] = {
    {111, "redux writes the uniform register that lanes behind still need for an address of local memory"},
    {1159, "after a division in double a branch is taken by another predicate than the one it names"},
    {2085, "max.f32 with 0 of an integer's bits is done as an integer maximum, which keeps a NaN"}};

bool miscompiled(std::uint64_t seed) {
  return std::ranges::any_of(kMiscompiled, [&](const auto& one) { return one.first == seed; });
}

class OnGpu : public RandomKernels {
 public:
  using RandomKernels::RandomKernels;
  void TestBody() override {
    std::string why;
    device_ = open_gpu(&why);
    if (device_ == nullptr) GTEST_SKIP() << why;
    const device::DeviceFacts& facts = device_->facts();
    if (facts.compute_major != 9 || facts.compute_minor != 0)
      GTEST_SKIP() << "the kernels are for sm_90a, and this GPU is sm_" << facts.compute_major
                   << facts.compute_minor;
    std::uint64_t failures = 0;
    for (std::uint64_t at = 0; at < seeds_.count && failures < seeds_.most_failures && !broken_;
         at += kKernelsPerModule) {
      std::vector<RandomKernel> kernels;
      for (std::uint64_t i = at; i < std::min(seeds_.count, at + kKernelsPerModule); ++i)
        if (!miscompiled(seeds_.first + i)) kernels.push_back(make_kernel(seeds_.first + i));
      for (const RandomKernel& kernel : differing(kernels)) {
        if (++failures > seeds_.most_failures) break;
        report(kernel, "simulator and GPU", [&](const RandomKernel& one) { return problem_of(one); });
      }
    }
  }

 private:
  // One module for all of them; one each when the driver does not take it, to see whose fault that is.
  std::vector<RandomKernel> differing(const std::vector<RandomKernel>& kernels) {
    std::optional<GpuModule> together;
    try {
      together.emplace(device_, module_of(kernels), "random.ptx");
    } catch (const Error&) {
    }
    std::vector<RandomKernel> wrong;
    for (const RandomKernel& kernel : kernels) {
      if (broken_) break;
      if (!(together ? difference(*together, kernel) : problem_of(kernel)).empty()) wrong.push_back(kernel);
    }
    return wrong;
  }
  std::string problem_of(const RandomKernel& kernel) {
    try {
      return difference(GpuModule(device_, module_of(std::span(&kernel, 1)), "random.ptx"), kernel);
    } catch (const Error& error) {  // the assembler's words
      return format_text("{}\n{}", error.what(), error.detail());
    }
  }
  std::string difference(const GpuModule& module, const RandomKernel& kernel) {
    const std::string text = module_of(std::span(&kernel, 1));
    std::vector<Bytes> expected, found = buffers_of(kernel);
    try {
      expected = run_on_sim(SimModule(text, "random.ptx"), kernel);
    } catch (const Error& error) {
      return error.what();
    }
    try {
      module.run(entry_of(kernel), kRandomShape, found);
    } catch (const Error& error) {  // an error of a running kernel leaves nothing to go on with
      broken_ = true;
      ADD_FAILURE() << "seed " << kernel.seed << ", on the GPU: " << error.what() << "\n" << text;
      return {};
    }
    return first_difference(expected, found);
  }

  bool broken_ = false;
  std::shared_ptr<device::Device> device_;
};

template <class Test>
void register_test(const char* suite, const char* name, const Seeds& seeds) {
  testing::RegisterTest(suite, name, nullptr, nullptr, __FILE__, __LINE__,
                        [seeds]() -> testing::Test* { return new Test(seeds); });
}

// ---- Tests of the maker --------------------------------------------------------------------------------

TEST(RandomKernelMaker, TheSameSeedGivesTheSameKernelAndAnotherAnother) {
  const auto text = [](std::uint64_t seed) {
    const RandomKernel kernel = make_kernel(seed);
    return module_of(std::span(&kernel, 1));
  };
  EXPECT_EQ(text(5), text(5));
  EXPECT_NE(text(5), text(6));
  EXPECT_EQ(buffers_of({5, {}}), buffers_of({5, {}}));
}

// Every row of the table is drawn unless it says why not; and whatever is drawn, the simulator takes.
TEST(RandomKernelMaker, EveryRowIsDrawn) {
  Random random(1);
  std::size_t rows = 0;
  std::set<std::string> forms;
  for (const auto& family : sim::opcode_families())
    for (const DrawnRow& row : drawn_rows(family)) {
      ++rows;
      for (int i = 0; i < 400; ++i) {
        Form form;
        ASSERT_TRUE(draw_form(random, row, &form)) << row.row->syntax;
        const std::string text = instruction_text(random, form);
        forms.insert(text.substr(0, text.find(' ')));
      }
    }
  EXPECT_GT(rows, 150u);
  EXPECT_GT(forms.size(), 5000u);
}

TEST(RandomKernelMaker, ShrinkingKeepsWhatFails) {
  const RandomKernel kernel = make_kernel(3);
  const auto count = [](const RandomKernel& one) {
    const std::string text = module_of(std::span(&one, 1));
    return std::count(text.begin(), text.end(), '\n');
  };
  ASSERT_FALSE(kernel.pieces.empty());
  const std::string wanted = kernel.pieces[kernel.pieces.size() / 2].begin;
  const RandomKernel small = shrunk(kernel, [&](const RandomKernel& one) {
    return module_of(std::span(&one, 1)).find(wanted) != std::string::npos;
  });
  EXPECT_EQ(small.pieces.size(), 1u);
  EXPECT_LT(count(small), count(kernel));
  EXPECT_EQ(problem_on_sim(small), "");
}

}  // namespace

void register_random_kernel_tests(const Seeds& seeds) {
  register_test<OnSim>("RandomKernels", "HaveOneResultAndNoFindings", seeds);
  register_test<OnGpu>("RandomKernelsGpu", "HaveTheGpusResults", seeds);
}

}  // namespace gpuforge::ptx_files
