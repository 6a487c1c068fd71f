# gpuforge_precompile(<target> <set>): with -DGPUFORGE_PRECOMPILE=ON the headers of a set (standard, tests) are compiled once for all
# targets. It saves a fifth of a build's time; what it costs is that a file that forgets to include one of them
# compiles all the same, so the builds that people work with leave it off.
option(GPUFORGE_PRECOMPILE "Compile headers of the standard library and of GoogleTest once for all files" OFF)

set(GPUFORGE_PRECOMPILED_standard
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <functional> <map> <memory> <mutex>
    <optional> <set> <span> <string> <string_view> <thread> <tuple> <utility> <variant> <vector>)
set(GPUFORGE_PRECOMPILED_tests ${GPUFORGE_PRECOMPILED_standard} <gmock/gmock.h> <gtest/gtest.h>)

function(gpuforge_precompile target set)
  if(NOT GPUFORGE_PRECOMPILE)
    return()
  endif()
  # A target of its own, without definitions: who has more of them can use what it compiled, who has fewer could not. A program where
  # programs use it: code for those is another than for libraries.
  set(first gpuforge_precompiled_${set})
  if(NOT TARGET ${first})
    file(WRITE "${PROJECT_BINARY_DIR}/precompiled_${set}.cpp" "int main() {}\n")
    if(set STREQUAL "tests")
      add_executable(${first} EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/precompiled_${set}.cpp")
      target_link_libraries(${first} PRIVATE GTest::gmock)
    else()
      add_library(${first} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/precompiled_${set}.cpp")
    endif()
    target_link_libraries(${first} PRIVATE gpuforge_settings)
    target_precompile_headers(${first} PRIVATE ${GPUFORGE_PRECOMPILED_${set}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${first})
endfunction()
