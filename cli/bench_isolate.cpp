#include "cli/bench_isolate.h"

#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/lab/bench_json.h"

namespace gpuforge::cli {

std::vector<std::string> isolated_arguments(const Session& session, const BenchRequest& request,
                                            const lab::BenchCase& which, std::string_view device) {
  const std::filesystem::path& file = request.ops.find(which.op)->second.file;
  std::vector<std::string> arguments = {"bench",
                                        "--json",
                                        "--no-isolate",
                                        "--quiet",
                                        format_text("--device={}", device),
                                        format_text("--op={}", file.empty() ? which.op : file.string()),
                                        format_text("--sizes={}", lab::shape_text(which.problem.shape)),
                                        format_text("--dtypes={}", name(which.problem.dtype)),
                                        format_text("--variant={}", which.variant),
                                        format_text("--backend={}", which.backend)};
  if (request.measure.method == lab::Method::events) arguments.emplace_back("--method=events");
  if (request.quick) arguments.emplace_back("--quick");
  for (const auto& [option, value] : which.problem.options) {
    arguments.push_back(format_text("--option={}={}", option, value));
  }
  if (request.measure.warmup) arguments.push_back(format_text("--warmup={}", *request.measure.warmup));
  if (request.measure.iterations)
    arguments.push_back(format_text("--iterations={}", *request.measure.iterations));
  if (!session.tuning) arguments.emplace_back("--no-tuning");
  // The child reads environment and files itself; what flags said is passed on.
  const Settings& settings = session.settings;
  if (settings.cache_dir) arguments.push_back("--cache-dir=" + settings.cache_dir->string());
  if (settings.kernel_dir) arguments.push_back("--kernel-dir=" + settings.kernel_dir->string());
  constexpr std::string_view kCompilers[] = {"auto", "nvrtc", "clang"};
  arguments.push_back(format_text("--compiler={}", kCompilers[static_cast<std::size_t>(settings.compiler)]));
  return arguments;
}

lab::BenchResult bench_isolated(const Session& session, const BenchRequest& request,
                                const lab::BenchCase& which, std::string_view device) {
  const std::chrono::milliseconds limit(static_cast<std::int64_t>(request.time_limit_seconds * 1000));
  const ChildResult child =
      run_child(executable_path(), isolated_arguments(session, request, which, device), limit);
  lab::BenchResult result{.which = which};
  if (child.end == ChildResult::End::exited) {
    try {
      const Json answer = Json::parse(child.out, "the child's answer");
      if (const Json* const error = answer.find("error")) {
        result.failure = error->at("message").as_string();
        return result;
      }
      return lab::bench_result(answer.at("cases").as_array().at(0));
    } catch (const Error&) {  // it ended without one
    } catch (const std::out_of_range&) {
    }
  }
  result.failure = format_text("its process {}", describe(child, limit));
  if (!child.err.empty()) result.failure += ": " + child.err.substr(0, child.err.find('\n'));
  return result;
}

}  // namespace gpuforge::cli
