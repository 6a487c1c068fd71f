#include "tests/ptx/approx_record.h"

#include <charconv>
#include <cstring>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::ptx_files {
namespace {

constexpr std::uint32_t kThreads = 128;
constexpr std::size_t kValuesPerLine = 12;

std::size_t operand_bytes(const ApproxFunction& function) {
  return function.packed ? 4 : static_cast<std::size_t>(function.format->bits) / 8;
}

std::string entry_name(const ApproxFunction& function) {
  std::string name(function.instruction);
  for (char& letter : name)
    if (letter == '.') letter = '_';
  return name;
}

Bytes packed_bytes(const std::vector<std::uint64_t>& values, std::size_t bytes_each, std::size_t count) {
  Bytes bytes(count * bytes_each);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + i * bytes_each, &values[i], bytes_each);
  return bytes;
}

std::string lines_of(const std::vector<std::uint64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += format_text("{:x}", values[i]);
    text += (i + 1) % kValuesPerLine == 0 || i + 1 == values.size() ? '\n' : ' ';
  }
  return text;
}

}  // namespace

std::string name_of_inputs(const ApproxFunction& function) {
  return format_text("{} {}", function.format->name, function.operands);
}

std::vector<std::uint64_t> operands_of(const ApproxFunction& function,
                                       const std::vector<std::uint64_t>& inputs) {
  if (!function.packed) return inputs;
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    pairs.push_back(inputs[i] | inputs[inputs.size() - 1 - i] << 16);
  return pairs;
}

std::string approx_module() {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (const ApproxFunction& function : approx_functions()) {
    const auto bytes = operand_bytes(function);
    const std::string type = format_text("b{}", bytes * 8);
    const bool two = function.operands == 2;
    text += format_text(
        "\n.visible .entry {}(.param .u64 in, .param .u64 out)\n{{\n"
        "  .reg .{} %a, %b, %d;\n  .reg .b32 %i, %n, %t;\n  .reg .b64 %in, %out;\n"
        "  mov.u32 %i, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mov.u32 %t, %tid.x;\n  mad.lo.u32 %i, %i, %n, "
        "%t;\n"
        "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
        "  mad.wide.u32 %in, %i, {}, %in;\n  mad.wide.u32 %out, %i, {}, %out;\n"
        "  ld.global.{} %a, [%in];\n",
        entry_name(function), type, bytes * (two ? 2 : 1), bytes, type);
    if (two) text += format_text("  ld.global.{} %b, [%in+{}];\n", type, bytes);
    text += format_text("  {} %d, %a{};\n  st.global.{} [%out], %d;\n  ret;\n}}\n", function.instruction,
                        two ? ", %b" : "", type);
  }
  return text;
}

std::vector<std::uint64_t> approx_results(const ApproxFunction& function,
                                          const std::vector<std::uint64_t>& inputs, const RunKernel& run) {
  const std::vector<std::uint64_t> operands = operands_of(function, inputs);
  const std::size_t count = operands.size() / static_cast<std::size_t>(function.operands);
  const std::size_t bytes = operand_bytes(function);
  const Shape shape{static_cast<std::uint32_t>((count + kThreads - 1) / kThreads), kThreads};
  const std::size_t padded = std::size_t{shape.blocks} * shape.threads;
  std::vector<Bytes> buffers{
      packed_bytes(operands, bytes, padded * static_cast<std::size_t>(function.operands)),
      Bytes(padded * bytes)};
  run(entry_name(function), shape, buffers);
  std::vector<std::uint64_t> results(count);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&results[i], buffers[1].data() + i * bytes, bytes);
  return results;
}

ApproxRecord make_record(std::string machine, const RunKernel& run) {
  ApproxRecord record{std::move(machine), {}, {}};
  for (const ApproxFunction& function : approx_functions()) {
    auto& inputs = record.inputs[name_of_inputs(function)];
    if (inputs.empty()) inputs = approx_inputs(*function.format, function.operands);
    record.results[std::string(function.instruction)] = approx_results(function, inputs, run);
  }
  return record;
}

std::string record_text(const ApproxRecord& record) {
  std::string text = format_text("machine {}\n", record.machine);
  for (const auto& [name, values] : record.inputs)
    text += format_text("inputs {}\n{}", name, lines_of(values));
  for (const auto& [name, values] : record.results)
    text += format_text("results {}\n{}", name, lines_of(values));
  return text;
}

ApproxRecord read_record(std::string_view text) {
  ApproxRecord record;
  std::vector<std::uint64_t>* values = nullptr;
  int number = 0;
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string rest(line.substr(std::min(line.size(), word.size() + 1)));
    if (word == "machine") {
      record.machine = rest;
    } else if (word == "inputs") {
      values = &record.inputs[rest];
    } else if (word == "results") {
      values = &record.results[rest];
    } else {
      while (!line.empty()) {
        std::uint64_t value = 0;
        const char* const end = line.data() + line.size();
        const auto [after, error] = std::from_chars(line.data(), end, value, 16);
        if (values == nullptr || error != std::errc{} || (after != end && *after != ' '))
          throw Error(ErrorCode::parse,
                      format_text("results of .approx, line {}: '{}' is no number in a list", number, line));
        values->push_back(value);
        line.remove_prefix(static_cast<std::size_t>(after - line.data()) + (after != end ? 1 : 0));
      }
    }
  }
  return record;
}

}  // namespace gpuforge::ptx_files
