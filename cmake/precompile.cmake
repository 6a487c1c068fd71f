# gpuforge_precompile(<target> [ARRAYS|TESTS]): the headers that most files include are compiled once. TESTS, GoogleTest and the standard
# library's, for all test programs. For libraries with -DGPUFORGE_PRECOMPILE=ON alone: the standard library's, and with ARRAYS arrays
# with all below them. It saves a quarter of a build's time (pip install takes it, and the sanitizers' builds); what it costs is that
# a file that forgets to include one of them compiles all the same, so that the builds people work with leave it off. Where there is
# a compiler cache nothing is precompiled: it does not keep what is made with such headers.
option(GPUFORGE_PRECOMPILE "Compile headers that most files include once" OFF)
set(GPUFORGE_STANDARD_HEADERS
  <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <thread> <tuple> <utility> <variant> <vector>)

function(gpuforge_precompile target)
  if(CCACHE_PROGRAM OR NOT (GPUFORGE_PRECOMPILE OR "TESTS" IN_LIST ARGN))
    return()
  endif()
  set(precompiled gpuforge_precompiled)
  set(headers ${GPUFORGE_STANDARD_HEADERS})
  set(source "")
  if("ARRAYS" IN_LIST ARGN)
    set(precompiled gpuforge_precompiled_arrays)
    foreach(header array/array.h base/error.h base/format.h base/json.h)
      list(APPEND headers "${PROJECT_SOURCE_DIR}/gpuforge/${header}")
    endforeach()
  elseif("TESTS" IN_LIST ARGN)
    set(precompiled gpuforge_precompiled_tests)
    list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
    set(source "int main() {}\n")
  endif()
  # A target of its own, without definitions: who has more of them can use what it compiled, who has fewer could not. That of the test
  # programs is a program, because those are compiled with -fPIE and libraries with -fPIC.
  if(NOT TARGET ${precompiled})
    file(WRITE "${PROJECT_BINARY_DIR}/${precompiled}.cpp" "${source}")
    if("TESTS" IN_LIST ARGN)
      add_executable(${precompiled} EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${precompiled}.cpp")
      target_link_libraries(${precompiled} PRIVATE gpuforge_test_settings)
    else()
      add_library(${precompiled} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${precompiled}.cpp")
    endif()
    target_include_directories(${precompiled} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${precompiled} PRIVATE gpuforge_settings)
    target_precompile_headers(${precompiled} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()
