#include "cli/layout_picture.h"

#include "gpuforge/base/error.h"
#include "gpuforge/layout/rasterise.h"

namespace gpuforge::cli {
namespace {

layout::Mapping as_memory(const layout::Value& value) {
  if (const auto* const plain = std::get_if<layout::Layout>(&value.is)) return *plain;
  if (const auto* const swizzled = std::get_if<layout::SwizzledLayout>(&value.is)) return *swizzled;
  if (const auto* const composed = std::get_if<layout::ComposedLayout>(&value.is)) return *composed;
  throw Error(ErrorCode::invalid_argument,
              format_text("--memory: expected a layout, found {}", layout::to_text(value)));
}

layout::IntTuple as_shape(const layout::Value& value) {
  if (const auto* const tuple = std::get_if<layout::IntTuple>(&value.is)) return *tuple;
  throw Error(ErrorCode::invalid_argument,
              format_text("--tile: expected a shape, found {}", layout::to_text(value)));
}

Json conflict_json(const layout::WarpAccess& access) {
  Json threads = Json::array();
  for (const int thread : access.in_conflict) threads.push_back(thread);
  return Json::object().set("bank", access.conflict_bank).set("threads", std::move(threads));
}

}  // namespace

layout::PictureOptions layout_picture_options(const Invocation& invocation, const layout::Bindings& bindings,
                                              std::string title) {
  layout::PictureOptions options;
  options.title = std::move(title);
  if (const auto access = invocation.value("access")) {
    options.access = layout::AccessRequest{
        .type = layout::parse_access(*access),
        .space = invocation.value("space") == "global" ? layout::Space::global : layout::Space::shared,
        .is_load = !invocation.has("store")};
  }
  for (const std::string_view needs_access : {"space", "store", "memory"})
    GPUFORGE_CHECK(options.access || !invocation.has(needs_access),
                   "--{} is about an access: give --access, such as --access f16x8", needs_access);
  const bool drawn = invocation.has("svg") || invocation.has("png");
  GPUFORGE_CHECK(drawn || !invocation.has("element"), "--element is about a picture: give --svg or --png");
  GPUFORGE_CHECK(drawn || options.access || !invocation.has("tile"),
                 "--tile is about a picture or an access: give --svg, --png or --access");
  if (const auto tile = invocation.value("tile")) options.tile = as_shape(layout::evaluate(*tile, bindings));
  if (const auto memory = invocation.value("memory"))
    options.memory = as_memory(layout::evaluate(*memory, bindings));
  if (const auto element = invocation.value("element"))
    options.element_bytes = layout::parse_access(*element).bytes();
  return options;
}

LayoutPicture draw_layout(Session& session, const Invocation& invocation, const layout::Value& value,
                          const layout::PictureOptions& options) {
  LayoutPicture result;
  const auto svg = invocation.value("svg"), png = invocation.value("png");
  GPUFORGE_CHECK(!svg || !png || *svg != *png, "layout: --svg and --png name the same file, '{}'", *svg);
  for (const auto& file : {svg, png})
    GPUFORGE_CHECK(!file || *file != "-", "layout: a picture goes into a file; for stdout name /dev/stdout");
  if (!svg && !png) {
    if (options.access) result.access = layout::access_of(value, options);
    return result;
  }
  layout::Picture picture = layout::draw(value, options);
  std::string raster;
  if (png) raster = layout::rasterise(picture.svg, session.environment.path);
  if (svg) write_result(session, *svg, picture.svg);
  if (png) write_result(session, *png, raster);
  for (const auto& file : {svg, png})
    if (file) result.files.push_back(*file);
  result.access = std::move(picture.access);
  return result;
}

Json access_json(const layout::WarpAccess& access) {
  const layout::AccessType& type = access.request.type;
  Json json = Json::object();
  json.set("type", type.name);
  json.set("space", access.shared ? "shared" : "global");
  json.set("store", !access.request.is_load);
  json.set("threads", static_cast<std::uint64_t>(access.threads.size()));
  json.set("bytes_per_thread", type.bytes());
  if (access.shared) {
    json.set("wavefronts", access.shared->wavefronts);
    json.set("ideal_wavefronts", access.shared->ideal);
    Json phases = Json::array();
    for (const layout::SharedPhase& phase : access.shared->phases)
      phases.push_back(Json::object()
                           .set("first_thread", phase.first_thread)
                           .set("threads", phase.threads)
                           .set("wavefronts", phase.wavefronts));
    json.set("phases", std::move(phases));
    json.set("conflict", access.in_conflict.empty() ? Json() : conflict_json(access));
  } else {
    const auto sectors = static_cast<std::int64_t>(access.global->sectors.size());
    json.set("sectors", sectors);
    json.set("bytes", access.global->bytes);
    json.set("moved_bytes", sectors * layout::kSectorBytes);
  }
  json.set("why", access.sentence);
  return json;
}

}  // namespace gpuforge::cli
