#include "cli/doctor_libraries.h"

#include "cli/probe.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/sim/chip.h"

namespace gpuforge::cli {
namespace {

constexpr std::string_view kNoGpuCosts =
    "kernels run in the simulator alone: checked, but nothing is said about their speed";

const Json* error_of(const ProbeAnswer& answer) {
  return answer.json ? answer.json->find("error") : nullptr;
}
std::string message_of(const Json& error) {
  return error.at("message").as_string();
}
std::string text_of(const Json& json, std::string_view key) {
  return json.at(key).as_string();
}

// A library that takes the child down or never answers.
Finding broken(std::string section, std::string_view library, const ProbeAnswer& answer) {
  return {std::move(section), Status::fail,
          format_text("{}: loading it in a child process {}", library, answer.problem),
          "everything that needs it would fail the same way",
          "check nvidia-smi and the kernel's log (dmesg), reinstall that library, or name a good copy in "
          "GPUFORGE_LIBRARY_PATH"};
}

std::string device_text(const Json& device) {
  const std::string capability = device.at("compute_capability").is_string()
                                     ? ", compute capability " + text_of(device, "compute_capability")
                                     : std::string();
  return format_text("{}: {}{}, {}, {} multiprocessors", text_of(device, "name"), text_of(device, "product"),
                     capability,
                     show_bytes(static_cast<std::uint64_t>(device.at("memory_bytes").as_integer())),
                     device.at("multiprocessors").as_integer());
}

// The driver's CUDA version, 0 when there is none.
int check_driver(const ProbeAnswer& answer, Findings& findings) {
  if (!answer.json) {
    findings.push_back(broken("driver", "CUDA driver", answer));
    return 0;
  }
  if (const Json* error = error_of(answer)) {
    const std::string message = message_of(*error);
    // A driver that is there but sees no GPU is a finding about the GPU.
    const bool about_gpu = message.starts_with("No GPU devices found");
    if (about_gpu) findings.push_back({"driver", Status::pass, "CUDA driver is here", {}, {}});
    findings.push_back(
        missing(about_gpu ? "GPU" : "driver", Status::warn, message, std::string(kNoGpuCosts)));
    return 0;
  }
  findings.push_back({"driver",
                      Status::pass,
                      format_text("CUDA driver {}, {} ({})", text_of(*answer.json, "version_text"),
                                  text_of(*answer.json, "path"), text_of(*answer.json, "rule")),
                      {},
                      {}});
  for (const Json& device : answer.json->at("devices").as_array()) {
    if (device.at("usable").as_bool()) {
      findings.push_back({"GPU", Status::pass, device_text(device), {}, {}});
    } else {
      findings.push_back(missing("GPU", Status::warn, text_of(device, "reason"), "this GPU is not used"));
    }
  }
  return static_cast<int>(answer.json->at("version").as_integer());
}

void check_nvrtc(const ProbeAnswer& answer, int driver_version, Findings& findings) {
  if (!answer.json) {
    findings.push_back(broken("NVRTC", "NVRTC", answer));
    return;
  }
  if (const Json* error = error_of(answer)) {
    findings.push_back(
        missing("NVRTC", Status::warn, message_of(*error),
                "no kernel can be compiled here; those in the cache and .ptx files still run"));
    return;
  }
  const Json& json = *answer.json;
  std::string archs;
  for (const Json& arch : json.at("archs").as_array()) archs += format_text(" {}", arch.as_integer());
  findings.push_back({"NVRTC",
                      Status::pass,
                      format_text("NVRTC {}, {} ({}), compiles for sm{}", text_of(json, "version"),
                                  text_of(json, "path"), text_of(json, "rule"), archs),
                      {},
                      {}});
  for (const Json& copy : json.at("copies").as_array()) {
    const std::string path = text_of(copy, "path");
    if (path == text_of(json, "path")) continue;
    const std::string version = copy.at("version").is_string() ? text_of(copy, "version") : "unusable";
    findings.push_back(
        {"NVRTC",
         Status::info,
         format_text("another copy, not used: {}, {} ({})", version, path, text_of(copy, "rule")),
         {},
         {}});
  }
  const auto compiler_version = static_cast<int>(json.at("cuda_version").as_integer());
  if (driver_version == 0 || driver_version >= compiler_version) return;
  findings.push_back(
      {"NVRTC", Status::warn,
       format_text("the driver is of CUDA {} and older than NVRTC of CUDA {}",
                   cuda::version_text(driver_version), cuda::version_text(compiler_version)),
       "PTX that this NVRTC writes, and machine code across a major version, may not load",
       format_text("update the driver, or use an NVRTC of CUDA {} (GPUFORGE_LIBRARY_PATH names its folder)",
                   driver_version / 1000)});
}

// clang is a way out, so its absence is only worth a note.
void check_clang(const Session& session, Findings& findings) {
  const auto clang = jit::find_clang(session.environment.path.value_or(""));
  if (!clang) {
    findings.push_back(
        {"clang",
         Status::info,
         format_text("no clang {} or newer on PATH; where NVRTC is missing it would compile kernels for "
                     "the simulator",
                     jit::kOldestClang),
         {},
         {}});
    return;
  }
  std::string archs;
  for (const int number : clang->arch_numbers()) archs += format_text(" {}", number);
  findings.push_back(
      {"clang",
       Status::pass,
       format_text("clang {}, {}, compiles PTX for compute{}: takes NVRTC's place for the simulator",
                   clang->version, clang->path.string(), archs),
       {},
       {}});
}

void check_headers(const Session& session, Findings& findings) {
  const auto folders = jit::toolkit_include_dirs(cuda::search_options(session.environment));
  for (const auto& folder : folders)
    findings.push_back({"CUDA headers", Status::pass, folder.string(), {}, {}});
  if (!folders.empty()) return;
  findings.push_back(
      {"CUDA headers", Status::warn, "no CUDA or CCCL headers found",
       "kernels that include cuda_fp16.h or cuda/std/... do not compile; gpuforge's own kernels need none",
       "install the PyPI wheels nvidia-cuda-runtime and nvidia-cuda-cccl, or set CUDA_HOME to a toolkit"});
}

// 130002 is 13.0.2.
std::string cublas_version(std::int64_t number) {
  return format_text("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void check_cublas_lt(const ProbeAnswer& answer, Findings& findings) {
  if (!answer.json) {
    findings.push_back(broken("cuBLASLt", "cuBLASLt", answer));
  } else if (error_of(answer) != nullptr) {
    findings.push_back({"cuBLASLt", Status::warn, "cuBLASLt not found",
                        "matrix products cannot be compared with NVIDIA's own",
                        "install the PyPI wheel nvidia-cublas, or NVIDIA's cuBLAS package"});
  } else {
    findings.push_back(
        {"cuBLASLt",
         Status::pass,
         format_text("cuBLASLt {}, {} ({})", cublas_version(answer.json->at("version").as_integer()),
                     text_of(*answer.json, "path"), text_of(*answer.json, "rule")),
         {},
         {}});
  }
}

void check_simulator(Findings& findings) {
  const device::DeviceFacts facts = device::sim_device_facts();
  findings.push_back(
      {"simulator",
       Status::pass,
       format_text("{} plays {}; sim:ARCH plays {}", facts.name, facts.pretended_arch, sim::known_chips()),
       {},
       {}});
}

void check_self_test(const ProbeAnswer& answer, Findings& findings) {
  const std::string section = "self-test";
  if (!answer.json) {
    findings.push_back({section, Status::fail, "tiled transpose: the child process " + answer.problem,
                        "kernels are likely to fail the same way",
                        "look at the findings above and the kernel's log"});
    return;
  }
  if (const Json* error = error_of(answer)) {
    const bool lacking = text_of(*error, "code") == "unavailable";
    findings.push_back(
        missing(section, lacking ? Status::warn : Status::fail, "tiled transpose: " + message_of(*error),
                lacking ? "nothing could be tested" : "kernels are likely to fail the same way"));
    return;
  }
  const Json& json = *answer.json;
  const std::string compiled = json.at("cached").as_bool()
                                   ? "from the cache"
                                   : "compiled in " + show_ms(json.at("compile_ms").as_double());
  const std::string arch = text_of(json, "arch");
  const std::int64_t mismatches = json.at("mismatches").as_integer();
  const std::int64_t elements = json.at("elements").as_integer();
  if (mismatches == 0) {
    findings.push_back(
        {section,
         Status::pass,
         format_text("tiled transpose for {} {}; on {} all {} elements agree with the host loop", arch,
                     compiled, text_of(json, "device"), elements),
         {},
         {}});
  } else {
    findings.push_back({section, Status::fail,
                        format_text("tiled transpose on {}: {} of {} elements differ from the host loop",
                                    text_of(json, "device"), mismatches, elements),
                        "results of this device cannot be trusted",
                        "run it again; if it stays, test the GPU's memory"});
  }
}

}  // namespace

Findings check_libraries(Session& session) {
  Findings findings;
  const int driver_version = check_driver(ask_probe(session, "driver"), findings);
  check_nvrtc(ask_probe(session, "nvrtc"), driver_version, findings);
  check_clang(session, findings);
  check_headers(session, findings);
  check_cublas_lt(ask_probe(session, "cublas_lt"), findings);
  check_simulator(findings);
  check_self_test(ask_probe(session, "self_test"), findings);
  return findings;
}

}  // namespace gpuforge::cli
