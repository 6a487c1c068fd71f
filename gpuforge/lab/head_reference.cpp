// What a head says is right: a kernel of the same file, or a Python function.
#include "gpuforge/base/error.h"
#include "gpuforge/lab/head_reader.h"

namespace gpuforge::lab {
namespace {

PythonReference read_python(const Yaml& reference, const Yaml& python) {
  for (const auto& [key, value] : reference.map()) {
    if (key.text() != "python" && key.text() != "arrays" && key.text() != "seconds")
      key.fail(format_text("`{}` goes with `kernel`, not with `python`", key.text()));
  }
  PythonReference result{.where = python.where()};
  const std::size_t colon = python.text().rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == python.text().size())
    python.fail(format_text("expected FILE.py:FUNCTION; found '{}'", python.text()));
  result.file = python.text().substr(0, colon);
  result.function = python.text().substr(colon + 1);
  if (const Yaml* const arrays = reference.find("arrays")) {
    if (arrays->text() != "numpy" && arrays->text() != "lists")
      arrays->fail(format_text("expected numpy or lists; found '{}'", arrays->text()));
    result.lists = arrays->text() == "lists";
  }
  if (const Yaml* const seconds = reference.find("seconds")) {
    if (seconds->integer() < 1 || seconds->integer() > 3600) seconds->fail("expected 1 to 3600 seconds");
    result.seconds = static_cast<int>(seconds->integer());
  }
  return result;
}

}  // namespace

void read_reference(const Yaml& yaml, const LaunchNames& names, KernelHead& head) {
  const Yaml* const reference = yaml.find("reference");
  if (reference == nullptr) {
    if (!head.op)
      yaml.fail("expected `reference:` with a kernel of this file or a python function, or a built-in `op`");
    return;
  }
  if (head.op) reference->fail("the built-in `op` is the reference: leave one of the two out");
  // A plain word is a kernel of this file, launched as the other one.
  if (!reference->is_map()) reference->fail("expected `kernel: NAME` or `python: FILE.py:FUNCTION` below it");
  reference->allow_keys(
      {"kernel", "parameters", "grid", "block", "shared", "cluster", "dtype", "python", "arrays", "seconds"});
  const Yaml* const python = reference->find("python");
  if ((python != nullptr) == (reference->find("kernel") != nullptr))
    reference->fail("expected `kernel: NAME` or `python: FILE.py:FUNCTION`, one of the two");
  if (python != nullptr) {
    head.python = read_python(*reference, *python);
    return;
  }
  for (const std::string_view key : {"arrays", "seconds"}) {
    if (const Yaml* const found = reference->find(key))
      found->fail(format_text("`{}` goes with `python`", key));
  }
  ReferenceKernel kernel{read_launch(*reference, names, &head.launch), false};
  if (const Yaml* const dtype = reference->find("dtype")) {
    if (dtype->text() != "f64" && dtype->text() != "same")
      dtype->fail(
          format_text("expected f64 (what is T elsewhere is double) or same; found '{}'", dtype->text()));
    kernel.same_dtype = dtype->text() == "same";
  }
  head.reference_kernel = std::move(kernel);
}

}  // namespace gpuforge::lab
