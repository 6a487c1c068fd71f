// gpuforge run: launch any kernel, with typed arguments, and see what it wrote.
#include <filesystem>

#include "cli/device_json.h"
#include "cli/kernel_file.h"
#include "cli/report.h"
#include "cli/run_kernel.h"
#include "cli/verbs.h"
#include "gpuforge/array/npy.h"
#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

HostArray to_host(const Array& array, device::Stream& stream) {
  HostArray host{array.dtype(), array.shape(), std::vector<std::byte>(array.bytes())};
  array.to_host(host.elements, stream);
  return host;
}

void save(Session& session, const HostArray& host, const std::filesystem::path& path) {
  if (const auto folder = path.parent_path(); !folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) {
      throw Error(ErrorCode::unavailable,
                  format_text("run: cannot make the folder '{}': {}", folder.string(), failed.message()));
    }
  }
  write_result(session, path,
               path.extension() == ".npy" ? npy_bytes(host) : std::string(as_text(host.elements)));
}

Json element_json(const std::byte* element, DType dtype) {
  if (is_floating(dtype)) return load_double(element, dtype);
  if (is_integer(dtype)) return load_int64(element, dtype);
  return load_int64(element, dtype) != 0;
}

// Nested as the shape is, like NumPy's tolist().
Json values_json(const HostArray& host, std::size_t axis, const std::byte*& at) {
  if (axis == host.shape.size()) {
    Json json = element_json(at, host.dtype);
    at += element_bytes(host.dtype);
    return json;
  }
  Json list = Json::array();
  for (std::int64_t i = 0; i < host.shape[axis]; ++i) list.push_back(values_json(host, axis + 1, at));
  return list;
}

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::byte byte : bytes) {
    out += kDigits[std::to_integer<std::size_t>(byte) >> 4];
    out += kDigits[std::to_integer<std::size_t>(byte) & 15];
  }
  return out;
}

Json dim_json(const device::Dim3& dim) {
  Json list = Json::array();
  for (std::uint32_t extent : {dim.x, dim.y, dim.z}) list.push_back(extent);
  return list;
}

Json shape_json(const Shape& shape) {
  Json list = Json::array();
  for (std::int64_t extent : shape) list.push_back(extent);
  return list;
}

Json output_json(const RunRequest& request, const RunOutput& output, const HostArray& host) {
  const LaunchArgument& argument = request.arguments[output.argument];
  Json json = Json::object();
  json.set("name", argument.label);
  json.set("argument", std::uint64_t{output.argument});
  json.set("role", name(argument.role));
  json.set("dtype", name(host.dtype));
  json.set("shape", shape_json(host.shape));
  const std::byte* at = host.elements.data();
  json.set("values", values_json(host, 0, at));
  json.set("hex", hex_of(host.elements));
  const auto& path = request.saves[output.argument];
  json.set("saved", path ? Json(path->string()) : Json());
  return json;
}

Json result_json(const RunRequest& request, const RunResult& result, Json outputs) {
  Json json = document("run");
  json.set("file", request.file.string());
  json.set("kernel", result.kernel->entry().name);
  json.set("signature", signature(result.kernel->entry()));
  json.set("device", device_json(result.context->device().facts()));
  Json config = Json::object();
  config.set("grid", dim_json(request.config.grid));
  config.set("block", dim_json(request.config.block));
  config.set("cluster", dim_json(request.config.cluster));
  config.set("shared_bytes", std::uint64_t{request.config.dynamic_shared_bytes});
  config.set("cooperative", request.config.cooperative);
  json.set("config", std::move(config));
  json.set("seed", request.seed);
  Json time = Json::object();
  time.set("launches", request.repeat);
  time.set("min_ms", double{result.times.lowest()});
  time.set("median_ms", double{result.times.median()});
  time.set("max_ms", double{result.times.highest()});
  json.set("time", std::move(time));
  json.set("outputs", std::move(outputs));
  Json warnings = Json::array();
  for (const std::string& warning : result.warnings) warnings.push_back(warning);
  json.set("warnings", std::move(warnings));
  if (result.report) json.set("report", Json::parse(result.report->json()));
  return json;
}

std::string time_text(const LaunchTimes& times) {
  if (times.milliseconds.size() == 1) return show_ms(times.lowest());
  return format_text("median {} of {} launches (from {} to {})", show_ms(times.median()),
                     times.milliseconds.size(), show_ms(times.lowest()), show_ms(times.highest()));
}

void say_what_ran(Session& session, const RunRequest& request, const RunResult& result) {
  const auto& facts = result.context->device().facts();
  std::string text = format_text("{} on {} ({}), grid {}, block {}: {}", signature(result.kernel->entry()),
                                 facts.name, facts.product, to_string(request.config.grid),
                                 to_string(request.config.block), time_text(result.times));
  if (request.uses_seed) text += format_text(", seed {}", request.seed);
  session.messages.note(text);
}

int run(Session& session, const Invocation& invocation) {
  const RunRequest request = read_run_request(invocation);
  const RunResult result = run_kernel(session, invocation, request);
  say_what_ran(session, request, result);
  Json outputs = Json::array();
  for (const RunOutput& output : result.outputs) {
    const LaunchArgument& argument = request.arguments[output.argument];
    const auto& path = request.saves[output.argument];
    if (path || session.json) {
      const HostArray host = to_host(output.array, *result.stream);
      if (path) save(session, host, *path);
      if (session.json) outputs.push_back(output_json(request, output, host));
    }
    if (session.json) continue;
    session.out.line(path ? format_text("{} saved to {}", argument.label, path->string())
                          : format_text("{} = {}", argument.label, to_string(output.array, *result.stream)));
  }
  if (session.json) session.out.document(result_json(request, result, std::move(outputs)));
  session.out.flush();
  for (const std::string& warning : result.warnings) session.messages.write(LogLevel::warning, warning);
  return result.report ? show_report(session, request.sim, *result.report) : kDone;
}

constexpr Positional kPositionals[] = {
    {.name = "FILE", .help = "a .cu or .ptx file", .required = true, .kind = ValueKind::file}};
constexpr Option kOptions[] = {
    {.name = "kernel", .short_name = 'k', .value = "NAME", .help = "which kernel, when the file has several"},
    {.name = "grid", .short_name = 'g', .value = "X[,Y[,Z]]", .help = "how many blocks"},
    {.name = "block", .short_name = 'b', .value = "X[,Y[,Z]]", .help = "how many threads in a block"},
    {.name = "arg",
     .short_name = 'a',
     .value = "ARG",
     .help = "the next argument of the kernel, see above",
     .repeatable = true},
    {.name = "shared", .value = "BYTES", .help = "dynamic shared memory of each block"},
    {.name = "cluster", .value = "X[,Y[,Z]]", .help = "blocks in a cluster"},
    {.name = "cooperative", .help = "all blocks at once, so that they may wait for each other"},
    kInstantiateOption,
    kDefineOption,
    kIncludeOption,
    kNvrtcOption,
    {.name = "repeat", .value = "N", .help = "launch N times on the same data and give the times"},
    {.name = "seed", .value = "N", .help = "for random and normal arrays (42)"},
    {.name = "save",
     .value = "NAME=FILE",
     .help = "write an output to a .npy file, or raw to any other",
     .repeatable = true,
     .kind = ValueKind::file},
    {.name = "out-dir",
     .value = "DIR",
     .help = "write every output to DIR/NAME.npy",
     .kind = ValueKind::folder},
    kSimOptions[0],
    kSimOptions[1],
    kSimOptions[2],
    kSimOptions[3],
    kSimOptions[4],
    kSimOptions[5],
    kSimOptions[6],
};
static_assert(std::size(kSimOptions) == 7);
constexpr Example kExamples[] = {
    {.line =
         "gpuforge run examples/saxpy.cu --grid 4 --block 256 --arg f32:2 --arg 'in:f32[1024]=random' --arg "
         "'y=inout:f32[1024]=ones' --arg i32:1024",
     .meaning = "y = 2 x + y on 1024 elements; the quotes are for the shell"},
    {.line =
         "gpuforge run t.cu -k transpose -g 8,8 -b 32,8 -a 'b=out:f32[256,256]' -a in:@a.npy --save b=b.npy",
     .meaning = "from one .npy file to another"},
    {.line =
         "gpuforge run t.cu -g 8,8 -b 32,8 -a 'b=out:f32[256,256]' -a in:@a.npy --device sim:sm_86 --report",
     .meaning = "no GPU needed: every access checked, and what an RTX 3090's memory would see"},
};

}  // namespace

const Command kRunCommand = {
    .name = "run",
    .summary = "launch a kernel with typed arguments and print what it wrote",
    .usage = "FILE --grid X[,Y[,Z]] --block X[,Y[,Z]] [--arg ARG]... [options]",
    .description =
        "An ARG is a scalar, f32:1.5 i32:0xff bool:true u64:7, the bytes of a struct, hex:00ff10, or an "
        "array:\n"
        "in:f32[4,256]=random\n"
        "  also zeros, ones, normal, arange, 2.5, hex:00ff.. (repeated)\n"
        "in:i64=[1,2,3]\n"
        "  the shape from the list; [[1,2],[nan,inf]] has two dimensions\n"
        "in:@data.npy  in:f32[64]=@data.bin\n"
        "  dtype and shape from the file, or as written\n"
        "out:f32[4,256]\n"
        "  poisoned first, so that what is not written is told\n"
        "inout:u8[8]=hex:00ff..\n"
        "  as in, and printed or saved like out\n"
        "A name may stand before: y=out:f32[8]. Types: f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u8 "
        "bool. Sizes: "
        "1024, 2^20, 1e6, 64Ki. Number, size and kind of the arguments are checked against the compiled "
        "kernel before "
        "anything is launched. The device is cuda:0, or the simulator where there is no GPU; --device "
        "sim[:ARCH] "
        "runs on it always: out-of-bounds accesses, races, barrier misuse and values that were never written "
        "are then findings, and the exit code 1.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
