// A Python function as the reference: a child python3 that exchanges .npy files in a folder of its own.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "gpuforge/array/npy.h"
#include "gpuforge/base/child_process.h"
#include "gpuforge/base/convert.h"
#include "gpuforge/base/embedded.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/json.h"
#include "gpuforge/lab/user_kernel.h"

namespace gpuforge {
std::span<const EmbeddedFile> lab_scripts();  // generated
}

namespace gpuforge::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kMissingNumpy = 3;  // exit code of the script
constexpr std::size_t kShownLines = 12;

class ExchangeFolder {
 public:
  ExchangeFolder() {
    std::error_code failed;
    std::string pattern = (fs::temp_directory_path(failed) / "gpuforge_reference_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorCode::unavailable,
                  format_text("lab: cannot make a folder for the python reference like {}", pattern));
    }
    path_ = pattern;
  }
  ~ExchangeFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ExchangeFolder(const ExchangeFolder&) = delete;
  ExchangeFolder& operator=(const ExchangeFolder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path find_python(std::string_view search_path) {
  for (std::string_view rest = search_path; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path program = fs::path(rest.substr(0, colon)) / "python3";
    std::error_code failed;
    if (program.is_absolute() && fs::is_regular_file(program, failed) && ::access(program.c_str(), X_OK) == 0)
      return program;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

HostArray host_array(const HostTensor& tensor, DType dtype) {
  // Whole numbers stay whole; what NumPy has no type for is exact in double.
  HostArray array{.dtype = is_floating(dtype) ? DType::f64 : DType::i64, .shape = tensor.shape};
  array.elements.resize(tensor.values.size() * 8);
  convert_elements(array.elements.data(), array.dtype, tensor.values.data(), DType::f64,
                   tensor.values.size());
  return array;
}

Json values_json(const NameValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) {
    if (name.find('(') != std::string::npos) continue;
    std::visit([&](auto number) { json.set(name, number); }, value);
  }
  return json;
}

// The end of what it wrote, indented.
std::string last_lines(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::size_t begin = text.size();
  for (std::size_t lines = 0; lines < kShownLines && begin != 0 && begin != std::string_view::npos; ++lines)
    begin = text.rfind('\n', begin - 1);
  if (begin != std::string_view::npos && begin < text.size()) text.remove_prefix(begin + 1);
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    shown += "\n  " + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shown;
}

}  // namespace

std::vector<Expected> python_reference(const UserKernel& kernel, const Problem& problem,
                                       std::span<const HostTensor> inputs) {
  const PythonReference& python = *kernel.head().python;
  const std::string who =
      format_text("{}: the python reference {}:{}", python.where, python.file, python.function);
  const fs::path program = find_python(kernel.options().program_path.value_or(""));
  if (program.empty())
    throw Error(ErrorCode::unavailable, format_text("{} needs python3, which is not on PATH", who));
  fs::path file = python.file;
  if (file.is_relative()) file = kernel.file().parent_path() / file;
  std::error_code failed;
  if (!fs::is_regular_file(file, failed))
    throw Error(ErrorCode::io, format_text("{}: there is no file {}", who, file.string()));

  const ExchangeFolder folder;
  const std::vector<Operand> operands = kernel.operands(problem);
  Json outputs = Json::array();
  std::size_t input = 0;
  for (const Operand& operand : operands) {
    if (operand.role != Role::output) {
      write_npy(folder / format_text("in{}.npy", input), host_array(inputs[input], operand.dtype));
      ++input;
    }
    if (operand.role == Role::input) continue;
    Json output = Json::object();
    output.set("name", operand.name);
    Json shape = Json::array();
    for (const std::int64_t extent : operand.shape) shape.push_back(extent);
    output.set("shape", std::move(shape));
    outputs.push_back(std::move(output));
  }
  Json request = Json::object();
  request.set("file", fs::absolute(file).string());
  request.set("function", python.function);
  request.set("lists", python.lists);
  request.set("inputs", std::uint64_t{input});
  request.set("outputs", outputs);
  request.set("values", values_json(kernel.values(problem, nullptr)));
  write_file(folder / "request.json", request.dump());
  write_file(folder / "python_reference.py", lab_scripts().front().text);

  const std::chrono::seconds limit(python.seconds);
  const ChildResult child =
      run_child(program, {(folder / "python_reference.py").string(), folder.path().string()}, limit);
  if (child.end == ChildResult::End::exited && child.code == kMissingNumpy &&
      child.err.find("has no NumPy") != std::string::npos) {
    throw Error(
        ErrorCode::unavailable,
        format_text(
            "{} takes NumPy arrays, and {} has no NumPy: install it, or write the function for nested "
            "lists and say `arrays: lists`",
            who, program.string()),
        child.err);
  }
  GPUFORGE_CHECK(child.good(), "{}: {}{}", who, describe(child, limit), last_lines(child.err));
  std::vector<Expected> results;
  for (std::size_t i = 0; i < outputs.as_array().size(); ++i) {
    const HostArray result = read_npy(folder / format_text("out{}.npy", i));
    Expected expected;
    expected.values.resize(static_cast<std::size_t>(element_count(result.shape)));
    convert_elements(expected.values.data(), DType::f64, result.elements.data(), result.dtype,
                     expected.values.size());
    results.push_back(std::move(expected));
  }
  return results;
}

}  // namespace gpuforge::lab
