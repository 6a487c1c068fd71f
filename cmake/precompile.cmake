# gpuforge_precompile(<target>): with -DGPUFORGE_PRECOMPILE=ON headers of the standard library are compiled once for all rooms. It saves a
# fifth of a build's time (pip install takes it); what it costs is that a file that forgets to include one of them compiles all the
# same, so the builds that people work with leave it off.
option(GPUFORGE_PRECOMPILE "Compile headers of the standard library once for all rooms" OFF)

function(gpuforge_precompile target)
  if(NOT GPUFORGE_PRECOMPILE)
    return()
  endif()
  # A target of its own, without definitions: who has more of them can use what it compiled, who has fewer could not.
  if(NOT TARGET gpuforge_precompiled)
    file(WRITE "${PROJECT_BINARY_DIR}/precompiled.cpp" "")
    add_library(gpuforge_precompiled OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/precompiled.cpp")
    target_link_libraries(gpuforge_precompiled PRIVATE gpuforge_settings)
    target_precompile_headers(gpuforge_precompiled PRIVATE
      <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <functional> <map> <memory> <mutex>
      <optional> <set> <span> <string> <string_view> <thread> <tuple> <utility> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM gpuforge_precompiled)
endfunction()
