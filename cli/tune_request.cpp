#include "cli/tune_request.h"

#include <charconv>

#include "cli/check_request.h"
#include "cli/profile_verbs.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

constexpr std::int64_t kMost = 1000000;

// --budget 40, --budget 30s
void read_budget(const Invocation& invocation, lab::TuneRequest& request) {
  const auto text = invocation.value("budget");
  if (!text) return;
  if (!text->ends_with('s')) {
    request.search.budget = static_cast<std::size_t>(
        require_count("tune: --budget (candidates; with an s, seconds)", *text, 1, kMost));
    return;
  }
  double seconds = 0;
  const char* const last = text->data() + text->size() - 1;
  const auto [end, error] = std::from_chars(text->data(), last, seconds);
  GPUFORGE_CHECK(error == std::errc() && end == last && seconds > 0 && seconds <= 1e6,
                 "tune: --budget is a number of candidates, or of seconds such as 30s; found '{}'", *text);
  request.seconds = seconds;
}

// --shard 2/4
void read_shard(const Invocation& invocation, lab::TuneRequest& request) {
  const auto text = invocation.value("shard");
  if (!text) return;
  const std::size_t slash = text->find('/');
  const std::int64_t index = parse_count(text->substr(0, slash)).value_or(0);
  const std::int64_t count =
      slash == std::string::npos ? 0 : parse_count(text->substr(slash + 1)).value_or(0);
  GPUFORGE_CHECK(index >= 1 && index <= count && count <= kMost,
                 "tune: --shard is i/N such as 2/4, with i from 1 to N; found '{}'", *text);
  request.shard = static_cast<std::size_t>(index);
  request.shards = static_cast<std::size_t>(count);
}

std::vector<std::string> texts_of(const Invocation& invocation, std::string_view option) {
  std::vector<std::string> texts = invocation.values(option);
  if (texts.empty()) texts.emplace_back();
  return texts;
}

}  // namespace

std::vector<lab::TuneRequest> read_tune_requests(const Invocation& invocation, const lab::Op& op) {
  lab::TuneRequest request;
  read_budget(invocation, request);
  read_shard(invocation, request);
  if (const auto text = invocation.value("strategy")) request.search.strategy = *lab::parse_strategy(*text);
  request.search.seed = read_seed(invocation, "tune");
  request.again = invocation.has("again");
  for (const Shape& shape : read_shapes(invocation)) static_cast<void>(shape);  // refuses an empty one
  std::vector<lab::TuneRequest> requests;
  for (const std::string& dtype : texts_of(invocation, "dtype")) {
    for (const std::string& shape : texts_of(invocation, "shape")) {
      const lab::OnceRequest one = once_request_for(op, {.op = op.name,
                                                         .variant = invocation.value("variant").value_or(""),
                                                         .dtype = dtype,
                                                         .shape = shape,
                                                         .settings = invocation.values("set")});
      GPUFORGE_CHECK(!one.config, "tune: --set sets options of the op; {} is what tune chooses",
                     to_string(one.config.value_or(Config{})));
      request.problem = one.problem;
      request.variant = one.variant;
      requests.push_back(request);
    }
  }
  return requests;
}

}  // namespace gpuforge::cli
