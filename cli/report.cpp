#include "cli/report.h"

#include <string>

#include "gpuforge/base/json.h"
#include "gpuforge/base/version.h"

namespace gpuforge::cli {
namespace {

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += "\n  " + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::compile:
    case ErrorCode::cuda:
      return kWrong;
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
    case ErrorCode::parse:
    case ErrorCode::io:
      return kBadInput;
    case ErrorCode::unavailable:
    case ErrorCode::out_of_memory:
      return kLacking;
    case ErrorCode::internal:
      break;
  }
  return kOurFault;
}

int report_error(const Error& error, std::string_view verb, bool json, Output& out, Messages& messages) {
  std::string text = error.message();
  // A compile error's message shows the first error whole; the log adds something when there are more.
  const bool more_errors = error.code() == ErrorCode::compile && text.find("\n(and ") != std::string::npos;
  if ((more_errors || messages.shows(LogLevel::debug)) && !error.detail().empty()) {
    text += indented(error.detail());
  }
  messages.write(LogLevel::error, text);
  if (error.code() == ErrorCode::internal) {
    messages.write(LogLevel::error, format_text("this is a fault of gpuforge {} ({}:{}); please report it",
                                                version(), error.where().file_name(), error.where().line()));
  }
  int code = exit_code(error.code());
  if (!json) return code;
  try {
    Json document = Json::object();
    document.set("gpuforge", version());
    document.set("verb", verb);
    Json body = Json::object();
    body.set("code", name(error.code()));
    body.set("message", error.message());
    body.set("detail", error.detail());
    document.set("error", std::move(body));
    out.document(document);
    out.flush();
  } catch (const Error& second) {
    messages.write(LogLevel::error, second.message());
    code = exit_code(second.code());
  }
  return code;
}

}  // namespace gpuforge::cli
