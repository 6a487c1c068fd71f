#include "cli/probe.h"

#include <set>

#include "cli/device_json.h"
#include "cli/report.h"
#include "cli/self_test.h"
#include "cli/verbs.h"
#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/cuda/cublas_lt.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/cuda/nvrtc.h"

namespace gpuforge::cli {
namespace {

Json driver_answer(const Session& session) {
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  const auto driver = cuda::Driver::load(search);
  Json json = Json::object();
  json.set("version", driver->version());
  json.set("version_text", cuda::version_text(driver->version()));
  json.set("path", driver->path().string());
  json.set("rule", driver->rule());
  Json devices = Json::array();
  for (const auto& listing : device::list_devices(search)) {
    if (listing.facts.kind == device::DeviceKind::cuda) devices.push_back(device_json(listing));
  }
  json.set("devices", std::move(devices));
  return json;
}

// Every copy, opened alone.
Json nvrtc_copies(const cuda::SearchOptions& search) {
  Json list = Json::array();
  std::set<std::string> seen;
  for (const cuda::Candidate& candidate : cuda::find_library(cuda::LibraryKind::nvrtc, search)) {
    Json json = Json::object();
    json.set("rule", candidate.rule);
    std::string why;
    const auto library = cuda::SharedLibrary::open(candidate.path, &why);
    const std::string path = library ? library->path().string() : candidate.path.string();
    std::error_code failed;
    const auto real = std::filesystem::canonical(path, failed);
    if (!seen.insert(failed ? path : real.string()).second) continue;
    // The loader's rule names versions that may not be there.
    if (!library && candidate.rule == "loader") continue;
    json.set("path", path);
    json.set("problem", why);
    int major = 0;
    int minor = 0;
    void* const symbol = library ? library->symbol("nvrtcVersion") : nullptr;
    if (symbol != nullptr) reinterpret_cast<int (*)(int*, int*)>(symbol)(&major, &minor);
    json.set("version", major > 0 ? Json(format_text("{}.{}", major, minor)) : Json());
    list.push_back(std::move(json));
  }
  return list;
}

Json nvrtc_answer(const Session& session) {
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  const auto nvrtc = cuda::Nvrtc::load(search);
  jit::Compiler compiler(search, std::nullopt);
  Json json = Json::object();
  json.set("version", compiler.version());
  json.set("cuda_version", nvrtc->major() * 1000 + nvrtc->minor() * 10);
  json.set("path", nvrtc->path().string());
  json.set("rule", nvrtc->rule());
  Json archs = Json::array();
  for (int arch : compiler.supported_archs()) archs.push_back(arch);
  json.set("archs", std::move(archs));
  json.set("passed_over", nvrtc->passed_over());
  json.set("copies", nvrtc_copies(search));
  return json;
}

Json cublas_lt_answer(const Session& session) {
  std::string why;
  const auto library = cuda::CublasLt::try_load(cuda::search_options(session.environment), &why);
  if (!library) throw Error(ErrorCode::unavailable, "cuBLASLt not found", why);
  Json json = Json::object();
  json.set("version", std::uint64_t{library->version()});
  json.set("path", library->path().string());
  json.set("rule", library->rule());
  return json;
}

Json self_test_answer(const Session& session) {
  const SelfTestResult result = run_self_test(session);
  Json json = Json::object();
  json.set("device", result.device);
  json.set("arch", result.arch);
  json.set("compile_ms", result.compile_ms);
  json.set("cached", result.from_cache);
  json.set("elements", result.elements);
  json.set("mismatches", result.mismatches);
  return json;
}

int run(Session& session, const Invocation& invocation) {
  const std::string& question = invocation.positionals.front();
  session.log = std::make_shared<Log>();  // what the libraries say is doctor's to tell
  Json answer;
  try {
    answer = question == "driver"      ? driver_answer(session)
             : question == "nvrtc"     ? nvrtc_answer(session)
             : question == "cublas_lt" ? cublas_lt_answer(session)
                                       : self_test_answer(session);
  } catch (const Error& error) {
    answer = Json::object();
    Json body = Json::object();
    body.set("code", name(error.code()));
    body.set("message", error.message());
    body.set("detail", error.detail());
    answer.set("error", std::move(body));
  }
  session.out.document(answer);
  return kDone;
}

constexpr std::string_view kQuestions[] = {"driver", "nvrtc", "cublas_lt", "self_test"};
constexpr Positional kPositionals[] = {
    {.name = "QUESTION", .help = "what to ask", .required = true, .values = kQuestions, .only_values = true}};

}  // namespace

ProbeAnswer ask_probe(Session& session, std::string_view question) {
  std::vector<std::string> arguments = {std::string(kProbeCommand.name), std::string(question), "--quiet"};
  // The child reads environment and files itself; what flags said is passed on.
  if (session.settings.cache_dir) arguments.push_back("--cache-dir=" + session.settings.cache_dir->string());
  if (session.settings.kernel_dir)
    arguments.push_back("--kernel-dir=" + session.settings.kernel_dir->string());
  constexpr std::string_view kCompilers[] = {"auto", "nvrtc", "clang"};
  arguments.push_back(
      format_text("--compiler={}", kCompilers[static_cast<std::size_t>(session.settings.compiler)]));
  arguments.push_back(format_text("--cache-limit={}", session.settings.cache_limit_bytes));
  const Progress progress(session.messages, format_text("asking about {}", question));
  const ChildResult child = run_child(executable_path(), arguments, kProbeLimit);
  ProbeAnswer answer;
  if (child.good()) {
    try {
      answer.json = Json::parse(child.out, "the probe's answer");
      return answer;
    } catch (const Error&) {
    }
  }
  answer.problem = describe(child, kProbeLimit);
  if (!child.err.empty()) answer.problem += ": " + child.err.substr(0, child.err.find('\n'));
  return answer;
}

const Command kProbeCommand = {
    .name = "probe-library",
    .summary = "ask one CUDA library a question, for doctor",
    .usage = "driver|nvrtc|cublas_lt|self_test",
    .positionals = kPositionals,
    .hidden = true,
    .run = run,
};

}  // namespace gpuforge::cli
