# One interface target that every target of ours links: warnings and sanitizers, nothing a user inherits.
add_library(gpuforge_settings INTERFACE)
if(GPUFORGE_DEVELOPER)
  # For those who can mend what they say: to a user they are time, and a newer compiler's must not break his build.
  target_compile_options(gpuforge_settings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                         # {.name = n} leaves the other fields at their defaults on purpose.
                         -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns about its own std::string operator+ when it inlines it (GCC bug 105651, fixed in 13).
    target_compile_options(gpuforge_settings INTERFACE -Wno-restrict)
  endif()
  if(NOT GPUFORGE_SANITIZE)  # under which GCC warns about what it no longer sees through
    target_compile_options(gpuforge_settings INTERFACE -Werror)
  endif()
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()
if(GPUFORGE_SANITIZE)
  target_compile_options(gpuforge_settings INTERFACE -fsanitize=${GPUFORGE_SANITIZE} -fno-omit-frame-pointer
                                                     -fno-sanitize-recover=all)
  if(GPUFORGE_SANITIZE MATCHES "address.*undefined")
    # What these would see, the address sanitizer sees where it is read or written; without them a build takes a fifth less.
    target_compile_options(gpuforge_settings INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
  target_link_options(gpuforge_settings INTERFACE -fsanitize=${GPUFORGE_SANITIZE})
endif()

# And one for the test programs, which are compiled in a third less time with -Og: what is waited for is the code they call.
if(GPUFORGE_DEVELOPER)
  add_library(gpuforge_test_settings INTERFACE)
  target_link_libraries(gpuforge_test_settings INTERFACE gpuforge_settings GTest::gtest GTest::gmock)
  if(GPUFORGE_SANITIZE)
    target_compile_options(gpuforge_test_settings INTERFACE -Og)
  else()
    target_compile_options(gpuforge_test_settings INTERFACE $<$<CONFIG:Release>:-Og>)
  endif()
endif()

# gpuforge_not_hot(<source>..): files of this folder that read, write and print text, where no loop is waited for. A Release build
# compiles them with -O1, in two thirds of the time; pip install builds everything on the user's machine.
function(gpuforge_not_hot)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
endfunction()

# A program built on one distribution runs on another of the same or newer glibc: libstdc++ travels inside it.
function(gpuforge_portable_program target)
  target_link_libraries(${target} PRIVATE gpuforge_settings)
  if(NOT GPUFORGE_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# What every test program has besides its libraries: it runs on other machines, is compiled with -Og, and GoogleTest once for all.
function(gpuforge_test_program target)
  gpuforge_portable_program(${target})
  target_link_libraries(${target} PRIVATE gpuforge_test_settings)
  gpuforge_precompile(${target} TESTS)
endfunction()

# Debian has Google Benchmark as a shared library only. A bench finds it beside itself, so that build/*/bin can be
# carried to a machine with a GPU; libstdc++ stays shared there because the two must agree on one copy.
function(gpuforge_bench_program target)
  target_link_libraries(${target} PRIVATE gpuforge_settings benchmark::benchmark benchmark::benchmark_main)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN")
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different
            "$<TARGET_FILE:benchmark::benchmark>" "$<TARGET_FILE_DIR:${target}>/$<TARGET_SONAME_FILE_NAME:benchmark::benchmark>"
    VERBATIM)
endfunction()
