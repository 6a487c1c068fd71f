# gpuforge_embed(<target> <symbol> <file>...): makes <symbol>.h/.cpp-style access to the files' text at run time.
# The generated source defines `std::span<const EmbeddedFile> <symbol>()` of gpuforge/base/embedded.h.
set(GPUFORGE_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_script.cmake")
function(gpuforge_embed target symbol)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp")
  set(paths "")
  foreach(file IN LISTS ARGN)
    list(APPEND paths "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DSYMBOL=${symbol}" "-DROOT=${PROJECT_SOURCE_DIR}"
            "-DFILES=${paths}" -P "${GPUFORGE_EMBED_SCRIPT}"
    DEPENDS ${paths} "${GPUFORGE_EMBED_SCRIPT}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
