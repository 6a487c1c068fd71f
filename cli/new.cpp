// gpuforge new: a kernel file to start from.
#include <algorithm>
#include <cctype>

#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "gpuforge/base/embedded.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge {
std::span<const EmbeddedFile> kernel_templates();  // generated
}

namespace gpuforge::cli {
namespace {

constexpr std::string_view kEnd = ".cu.in";
constexpr std::string_view kStart = "start";  // without --like
constexpr std::string_view kMark = "NAME";

// "softmax_online" of "cli/templates/softmax_online.cu.in".
std::string template_name(const EmbeddedFile& file) {
  std::string_view name = file.path;
  name.remove_prefix(name.rfind('/') + 1);
  name.remove_suffix(kEnd.size());
  return std::string(name);
}

std::string template_text(const std::string& like) {
  std::vector<std::string> known;
  std::string list;
  for (const EmbeddedFile& file : kernel_templates()) {
    const std::string name = template_name(file);
    if (name == like) return std::string(file.text);
    if (name == kStart) continue;
    list += (list.empty() ? "" : ", ") + name;
    known.push_back(name);
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("new: there is no kernel like '{}' to start from; there are {}{}", like, list,
                          did_you_mean(like, known)));
}

std::string with_name(std::string text, std::string_view name) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    if (at > 0 && is_part(text[at - 1])) {
      at += kMark.size();
      continue;
    }
    text.replace(at, kMark.size(), name);
    at += name.size();
  }
  return text;
}

void check_name(std::string_view name) {
  const bool good = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
                    });
  GPUFORGE_CHECK(
      good, "new: NAME becomes the kernel's name, so it has letters, digits and _ alone; found '{}'", name);
  GPUFORGE_CHECK(name.size() <= 100, "new: NAME has more than 100 characters");
}

int run(Session& session, const Invocation& invocation) {
  const std::string& name = invocation.positionals.front();
  check_name(name);
  const std::string text =
      with_name(template_text(invocation.value("like").value_or(std::string(kStart))), name);
  const std::filesystem::path path = invocation.value("out").value_or(name + ".cu");
  GPUFORGE_CHECK(path.extension() == ".cu", "new: -o FILE ends in .cu; found '{}'", path.string());
  std::error_code failed;
  GPUFORGE_CHECK(!std::filesystem::exists(std::filesystem::symlink_status(path, failed)),
                 "new: {} is there already, and is not overwritten", path.string());
  write_result(session, path, text);
  if (session.json) {
    Json json = document("new");
    json.set("file", path.string());
    session.out.document(json);
  } else {
    session.out.line(path.string());
  }
  session.messages.note(format_text("next: gpuforge check {0}    is it right?", path.string()));
  session.messages.note(format_text("      gpuforge bench --op {0}    how fast is it?", path.string()));
  return kDone;
}

constexpr std::string_view kLike[] = {"copy_transpose", "layer_norm", "reduce_sum", "rms_norm",
                                      "softmax_online"};
constexpr Positional kPositionals[] = {
    {.name = "NAME", .help = "what the kernel is to be called", .required = true}};
constexpr Option kOptions[] = {
    {.name = "like",
     .value = "OP",
     .help =
         "compute what this op computes: copy_transpose, layer_norm, reduce_sum, rms_norm, softmax_online",
     .values = kLike},
    {.name = "out",
     .short_name = 'o',
     .value = "FILE",
     .help = "write there (NAME.cu)",
     .kind = ValueKind::file},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge new my_softmax --like softmax_online",
     .meaning = "my_softmax.cu: a plain softmax, checked against the built-in op"},
    {.line = "gpuforge new blend -o kernels/blend.cu", .meaning = "operands and a reference of its own"},
};

}  // namespace

const Command kNewCommand = {
    .name = "new",
    .summary = "write a kernel file to start from, which check and bench take as it is",
    .usage = "NAME [--like OP] [-o FILE]",
    .description =
        "The file is CUDA C++ with a head: a YAML comment that says which op the kernel computes (or its own "
        "operands and a "
        "reference), its parameters, grid, block and shared memory as expressions of the shape, dtypes, and "
        "constants to tune. The kernel in it is plain and right. Change it, and `gpuforge check FILE` "
        "says whether it still is; nothing is rebuilt. A file that is there already is not overwritten.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
