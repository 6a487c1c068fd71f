#include "gpuforge/lab/check_plan.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "gpuforge/base/hash.h"

namespace gpuforge::lab {
namespace {

constexpr std::size_t kQuickProblems = 3;
constexpr Placement kPlacements[] = {Placement::contiguous, Placement::transposed, Placement::spread,
                                     Placement::shifted};

template <typename Items, typename Item>
bool has(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}
template <typename Item>
bool wanted(const std::vector<Item>& list, const Item& item) {
  return list.empty() || has(list, item);
}

std::uint64_t case_seed(std::uint64_t seed, const Op& op, const CheckCase& which) {
  return Hasher().add(seed).add(op.name).add(to_string(which)).finish().low;
}

// The largest of moderate size, in their order.
std::vector<Problem> quick_choice(const std::vector<Problem>& problems) {
  std::vector<std::int64_t> sizes;
  for (const Problem& problem : problems) {
    const std::int64_t size = element_count(problem.shape);
    if (size <= kModerateElements) sizes.push_back(size);
  }
  std::sort(sizes.rbegin(), sizes.rend());
  std::vector<Problem> list;
  for (const Problem& problem : problems) {
    const std::int64_t size = element_count(problem.shape);
    const std::size_t larger = static_cast<std::size_t>(
        std::count_if(sizes.begin(), sizes.end(), [&](std::int64_t other) { return other > size; }));
    if (size <= kModerateElements && larger < kQuickProblems && list.size() < kQuickProblems)
      list.push_back(problem);
  }
  return list.empty() ? problems : list;
}

// The dtype and options of the request in each problem, and every problem once.
std::vector<Problem> problems_of(const Op& op, const CheckRequest& request) {
  std::vector<Problem> start = op.check_problems;
  if (!request.shapes.empty()) {
    start.clear();
    for (const Shape& shape : request.shapes) start.push_back({.shape = shape});
  }
  std::vector<Problem> list;
  std::optional<Error> refusal;
  for (Problem& problem : start) {
    for (const auto& [option, value] : request.options) problem.options[option] = value;
    problem.dtype = op.dtypes.front();
    problem = complete(op, std::move(problem));
    try {
      op.operands(problem);
    } catch (const Error& error) {
      // A problem of the op's own may not go with an option that was asked for; a shape that was asked for
      // must.
      if (error.code() != ErrorCode::invalid_argument || request.options.empty() || !request.shapes.empty())
        throw;
      refusal = error;
      continue;
    }
    if (!has(list, problem)) list.push_back(std::move(problem));
  }
  if (list.empty() && refusal) throw *refusal;
  return request.quick && request.shapes.empty() ? quick_choice(list) : list;
}

std::vector<std::string> variants_of(const Op& op, const CheckRequest& request) {
  std::vector<std::string> list;
  for (const Variant& variant : op.variants) {
    if (wanted(request.variants, variant.name)) list.push_back(variant.name);
  }
  if (list.empty()) find_variant(op, request.variants.front());  // says which there are
  return list;
}

std::vector<DType> dtypes_of(const Op& op, const CheckRequest& request) {
  std::vector<DType> list;
  for (const DType dtype : op.dtypes) {
    if (wanted(request.dtypes, dtype)) list.push_back(dtype);
  }
  if (list.empty()) complete(op, {.dtype = request.dtypes.front()});  // says which there are
  return list;
}

class Planner {
 public:
  Planner(const Op& op, const CheckRequest& request, device::DeviceKind device, CheckPlan& plan)
      : op_(op), request_(request), device_(device), plan_(plan) {}

  void add_all() {
    const std::vector<Problem> problems = problems_of(op_, request_);
    const std::vector<DType> dtypes = dtypes_of(op_, request_);
    for (const std::string& variant : variants_of(op_, request_)) {
      for (const DType dtype : dtypes) {
        for (Problem problem : problems) {
          problem.dtype = dtype;
          add_problem(problem, variant);
        }
      }
    }
  }

 private:
  void add_problem(const Problem& problem, const std::string& variant) {
    const std::int64_t size = element_count(problem.shape);
    const bool own = request_.shapes.empty();
    if (own && device_ == device::DeviceKind::sim && size > kSimElements) {
      plan_.too_large +=
          wanted(request_.contents, Contents::normal) && wanted(request_.placements, Placement::contiguous);
      return;
    }
    add({.problem = problem, .variant = variant});
    // A content or placement that was asked for by name is wanted on every problem.
    const bool moderate = size <= kModerateElements && !request_.quick;
    if (moderate || !request_.contents.empty()) {
      for (const Contents contents : op_.hard_contents) {
        add({.problem = problem, .variant = variant, .contents = contents});
      }
    }
    if (!op_.accepts_strides || (!moderate && request_.placements.empty())) return;
    for (const Placement placement : kPlacements) {
      if (placement == Placement::contiguous) continue;
      add({.problem = problem, .variant = variant, .placement = placement});
    }
  }

  void add(CheckCase which) {
    if (!wanted(request_.contents, which.contents) || !wanted(request_.placements, which.placement)) return;
    which.seed = case_seed(request_.seed, op_, which);
    plan_.cases.push_back({&op_, std::move(which)});
  }

  const Op& op_;
  const CheckRequest& request_;
  const device::DeviceKind device_;
  CheckPlan& plan_;
};

}  // namespace

CheckPlan plan_checks(std::span<const Op> ops, const CheckRequest& request, device::DeviceKind device) {
  CheckPlan plan;
  std::optional<Error> refusal;
  for (const Op& op : ops) {
    try {
      Planner(op, request, device, plan).add_all();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      if (!refusal) refusal = error;
      plan.left_out.push_back(error.message());
    }
  }
  if (plan.cases.empty()) {
    if (refusal && ops.size() == 1) throw *refusal;
    if (refusal) {
      throw Error(ErrorCode::invalid_argument,
                  format_text("check: none of the {} ops has what was asked for; {}", ops.size(),
                              refusal->message()));
    }
    GPUFORGE_CHECK(plan.too_large == 0, "check: all {} cases are too large for the simulator",
                   plan.too_large);
    throw Error(ErrorCode::invalid_argument, "check: nothing is left of the cases with what was asked for");
  }
  return plan;
}

std::vector<CaseResult> run_checks(const CheckPlan& plan, const CaseRunner& run,
                                   const std::function<void(const CaseResult&)>& done) {
  std::vector<CaseResult> results;
  bool lost = false;
  for (const PlannedCase& planned : plan.cases) {
    CaseResult result{planned, {}, 0};
    if (lost) {
      result.report.faults.push_back("it was not run: a case before it lost the device");
    } else {
      const auto start = std::chrono::steady_clock::now();
      result.report = run(*planned.op, planned.which);
      result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      lost = result.report.device_lost;
    }
    if (done) done(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace gpuforge::lab
