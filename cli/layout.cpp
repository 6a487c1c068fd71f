// gpuforge layout: the layout algebra at the prompt.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "cli/help.h"
#include "cli/layout_lines.h"
#include "cli/layout_picture.h"
#include "cli/layout_report.h"
#include "cli/layout_table.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

// What --let binds, and the names in there that are bound to nothing.
struct Names {
  layout::Bindings bindings;
  std::vector<std::string> unknown;

  void add_unknown(std::string_view text) {
    for (std::string& name : layout::unbound_names(text, bindings))
      if (std::find(unknown.begin(), unknown.end(), name) == unknown.end())
        unknown.push_back(std::move(name));
  }
};

Names names_of(const Invocation& invocation) {
  Names names;
  for (const std::string& text : invocation.values("let")) {
    GPUFORGE_CHECK(text.find('=') != std::string::npos, "layout: --let takes NAME=EXPR, found '{}'", text);
    try {
      // Before it is bound: what it is bound to may have a name like its own.
      names.add_unknown(std::string_view(text).substr(text.find('=') + 1));
      layout::execute(text, names.bindings);
    } catch (const Error& error) {
      std::string_view why = error.message();
      if (why.starts_with("layout: ")) why.remove_prefix(8);
      throw Error(error.code(), format_text("layout: --let '{}': {}", text, why), error.detail(),
                  error.where());
    }
  }
  return names;
}

int list_functions(Session& session) {
  if (session.json) {
    Json list = Json::array();
    for (const layout::FunctionGroup& group : layout::functions()) {
      for (const layout::Function& function : group.functions) {
        Json entry = Json::object();
        entry.set("name", function.name);
        entry.set("parameters", function.parameters);
        entry.set("meaning", function.meaning);
        entry.set("group", group.title);
        list.push_back(std::move(entry));
      }
    }
    Json json = document("layout");
    json.set("functions", std::move(list));
    session.out.document(json);
    return kDone;
  }
  std::string out;
  for (const layout::FunctionGroup& group : layout::functions()) {
    std::vector<Labelled> rows;
    for (const layout::Function& function : group.functions)
      rows.push_back(
          {format_text("{}({})", function.name, function.parameters), std::string(function.meaning)});
    out += (out.empty() ? "" : "\n") + session.style(Color::bold, std::string(group.title) + ":") + "\n";
    out += two_columns(rows, std::min(session.terminal.columns, 110));
  }
  session.out.write(out);
  return kDone;
}

int run(Session& session, const Invocation& invocation) {
  if (invocation.has("functions")) return list_functions(session);
  GPUFORGE_CHECK(!invocation.positionals.empty(), "layout: EXPR is missing (see `gpuforge layout --help`)");
  const std::string& text = invocation.positionals.front();
  const bool table = invocation.has("table"), type = invocation.has("type");
  for (const std::string_view other : {"table", "access"})
    GPUFORGE_CHECK(!type || !invocation.has(other), "layout: --type prints the type alone, without --{}",
                   other);
  Names names = names_of(invocation);
  const layout::Bindings& bindings = names.bindings;
  if (text == "-") {
    for (const Option& option : kLayoutPictureOptions)
      GPUFORGE_CHECK(!invocation.has(option.name), "layout: --{} is for one expression, not for -",
                     option.name);
    GPUFORGE_CHECK(!type, "layout: --type is for one expression, not for -");
    if (::isatty(STDIN_FILENO) == 1) session.messages.note("an expression a line; Ctrl-D ends");
    answer_lines({.input = STDIN_FILENO, .table = table}, bindings, session.out);
    return kDone;
  }
  GPUFORGE_CHECK(text.find('=') == std::string::npos,
                 "layout: '{}' binds a name: give it as --let '{}', before or after an expression", text,
                 text);
  const layout::Value value = layout::evaluate(text, bindings);
  const std::string in_kernels = type ? type_text(value) : std::string();
  names.add_unknown(text);
  const LayoutPicture picture =
      draw_layout(session, invocation, value, layout_picture_options(invocation, bindings, text));
  if (session.json) {
    Json json = document("layout");
    add_value(json, value);
    if (table) json.set("table", table_json(value));
    if (type) json.set("type", in_kernels);
    if (picture.access) json.set("access", access_json(*picture.access));
    json.set("files", Json::Array(picture.files.begin(), picture.files.end()));
    add_unknown(json, names.unknown);
    session.out.document(json);
    return kDone;
  }
  if (type) {
    session.out.line(in_kernels);
    return kDone;
  }
  // A file or pipe takes lines of any length.
  const int columns =
      session.terminal.out_is_terminal ? session.terminal.columns : std::numeric_limits<int>::max();
  const std::string grid = table ? "\n" + table_text(value, columns) : std::string();
  session.out.write(value_text(value, columns));
  std::string unknown;
  for (const std::string& name : names.unknown) unknown += (unknown.empty() ? "" : ", ") + name;
  if (!unknown.empty()) session.out.line("  unknown " + unknown);
  if (picture.access) session.out.line("  access  " + wrap(picture.access->sentence, columns, 10, 10));
  session.out.write(grid);
  return kDone;
}

constexpr Positional kPositionals[] = {
    {.name = "EXPR", .help = "an expression, in quotes for the shell; - reads one a line from stdin"}};
constexpr Option kOwnOptions[] = {
    {.name = "let",
     .value = "NAME=EXPR",
     .help = "a name for a value; later ones may use earlier ones",
     .repeatable = true},
    {.name = "table", .help = "print the index of each coordinate"},
    {.name = "type", .help = "print the type it has in kernels, gpuforge/kernels/tile.cuh, and nothing else"},
    {.name = "functions", .help = "list the functions with their parameters"},
};
constexpr auto kOptions = [] {
  std::array<Option, std::size(kOwnOptions) + std::size(kLayoutPictureOptions)> all;
  std::copy(std::begin(kLayoutPictureOptions), std::end(kLayoutPictureOptions),
            std::copy(std::begin(kOwnOptions), std::end(kOwnOptions), all.begin()));
  return all;
}();
constexpr Example kExamples[] = {
    {.line = "gpuforge layout 'composition((8,4):(1,8), 4:2)'", .meaning = "c -> A(B(c))"},
    {.line = "gpuforge layout 'zipped_divide((M,N):(N,1), (1,32))'", .meaning = "M and N are not known yet"},
    {.line = "gpuforge layout --let 'A=(4,8):(8,1)' 'A(2,_)' --table",
     .meaning = "a row of A, and where it begins"},
    {.line = "gpuforge layout 'Sw<3,3,3> o 0 o (8,64):(64,1)' --access f16x8 --svg swizzle.svg",
     .meaning = "draw a tile of shared memory; bank conflicts of a warp that reads its columns"},
    {.line = "printf 'A = (8,4):(1,8)\\nsize(A)\\n' | gpuforge layout -", .meaning = "many, for programs"},
};

}  // namespace

const Command kLayoutCommand = {
    .name = "layout",
    .summary = "compute with layouts and draw them: composition, divides, inverses, bank conflicts",
    .usage =
        "EXPR|- [--let NAME=EXPR ..] [--table] [--type] [--access TYPE] [--svg FILE] [--png FILE] [--json]",
    .description =
        "A layout is written shape:stride, as CuTe writes it: (8,4):(1,8) sends (i,j) to i + 8*j. (x) is a "
        "tuple of "
        "one, x a number, ? a number that is not known, _ all of a mode. Sw<3,4,3> o 0 o A is a swizzle "
        "before a "
        "layout. Names that are bound to nothing are unknown numbers. A(3) and A(2,_) apply a bound layout. "
        "CuTe's own notation is read as well: _8, Int<8>{}, get<0>(A).\n"
        "With - a line of stdin is an expression, or NAME = EXPR, which binds the name for the lines after "
        "it; "
        "# begins a comment, and lines with nothing else have no answer. The answer is one line of JSON with "
        "the "
        "number of its line; where an expression is wrong, it has the member error, and the exit code is "
        "still 0, "
        "since every line was answered.\n"
        "--access tells what the first access of a warp costs. The threads of (tiler, tv) are its own. Over "
        "a "
        "plain layout, elements that lie side by side are taken together, as many as TYPE has, and threads "
        "take "
        "these vectors in the order of coordinates, the first mode running fastest.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
