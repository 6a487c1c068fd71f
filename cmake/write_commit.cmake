# Writes OUTPUT, a C++ source that knows the commit of the tree at SOURCE; touches it only when that has changed.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  set(commit "unknown")
endif()
set(text "#include <string_view>\n\nnamespace gpuforge {\nstd::string_view build_commit();\nstd::string_view build_commit() { return \"${commit}\"; }\n}  // namespace gpuforge\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT text STREQUAL before)
  file(WRITE "${OUTPUT}" "${text}")
endif()
