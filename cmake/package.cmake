# cmake --install: headers, static libraries, the exported targets gpuforge::<room> and gpuforge::gpuforge, the program.
# Also inside another project (add_subdirectory) everything above works; nothing is installed from there.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gpuforge")

get_property(rooms GLOBAL PROPERTY GPUFORGE_ROOMS)
install(TARGETS ${rooms} gpuforge EXPORT gpuforgeTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT gpuforgeTargets NAMESPACE gpuforge:: DESTINATION "${package_dir}")

get_property(headers GLOBAL PROPERTY GPUFORGE_HEADERS)
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}")
endforeach()

# Third-party libraries are used header-only inside .cpp files, so a user needs threads and nothing else.
file(WRITE "${PROJECT_BINARY_DIR}/gpuforgeConfig.cmake" [[
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/gpuforgeTargets.cmake")
]])
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gpuforgeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/gpuforgeConfig.cmake" "${PROJECT_BINARY_DIR}/gpuforgeConfigVersion.cmake"
        DESTINATION "${package_dir}")
if(TARGET gpuforge_cli)
  install(TARGETS gpuforge_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  # The program writes its own completions; each lands where that shell looks for them.
  foreach(place bash:bash-completion/completions/gpuforge zsh:zsh/site-functions/_gpuforge
                fish:fish/vendor_completions.d/gpuforge.fish)
    string(REPLACE ":" ";" place "${place}")
    list(GET place 0 shell)
    list(GET place 1 file)
    install(CODE "set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
      cmake_path(GET file PARENT_PATH folder)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \"$<TARGET_FILE:gpuforge_cli>\" completion ${shell} OUTPUT_FILE \"\${file}\"
                      COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
