# Debian packages by CPack: deploy/debian/build.sh configures with the prefix /usr, builds, and runs cpack.
include(GNUInstallDirs)

# Man pages and completion, from the option tables of the built programs.
find_program(PERFCI_SCDOC scdoc)
set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 $<TARGET_FILE:Python3::Interpreter>
          ${PROJECT_SOURCE_DIR}/deploy/debian/pages.py ${CMAKE_BINARY_DIR}/bin ${pages}
  COMMAND ${CMAKE_COMMAND} -DSCDOC=${PERFCI_SCDOC} -DPAGES=${pages} -P ${PROJECT_SOURCE_DIR}/deploy/debian/man.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
  DEPENDS perfci perfci-server perfci-runner perfci-sandbox perfci-bench ${PROJECT_SOURCE_DIR}/deploy/debian/pages.py
          ${PROJECT_SOURCE_DIR}/deploy/debian/man.cmake
  COMMENT "Writing man pages and completion"
  VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages}/stamp)
install(DIRECTORY ${pages}/man1 ${pages}/man8 DESTINATION share/man COMPONENT perfci FILES_MATCHING
  PATTERN "*.1.gz" PATTERN "perfci-server.8.gz" EXCLUDE PATTERN "perfci-runner.8.gz" EXCLUDE PATTERN "man8" EXCLUDE)
foreach(part "server;server" "runner;runner" "runner;sandbox")
  list(POP_FRONT part component)
  install(FILES ${pages}/man8/perfci-${part}.8.gz DESTINATION share/man/man8 COMPONENT perfci-${component} OPTIONAL)
endforeach()
install(FILES ${pages}/bash/perfci DESTINATION share/bash-completion/completions COMPONENT perfci)
install(FILES ${pages}/zsh/_perfci DESTINATION share/zsh/vendor-completions COMPONENT perfci)
install(FILES ${pages}/fish/perfci.fish DESTINATION share/fish/vendor_completions.d COMPONENT perfci)

# Python: the files, and what pip and pytest read of an installed package.
set(dist ${CMAKE_BINARY_DIR}/python/perfci-${PROJECT_VERSION}.dist-info)
file(WRITE ${dist}/METADATA "Metadata-Version: 2.1\nName: perfci\nVersion: ${PROJECT_VERSION}\nRequires-Python: >=3.9\n")
file(WRITE ${dist}/entry_points.txt "[pytest11]\nperfci = perfci_pytest\n")
file(WRITE ${dist}/top_level.txt "perfci\nperfci_pytest\n")
install(FILES ${PROJECT_SOURCE_DIR}/deploy/python/perfci.py ${PROJECT_SOURCE_DIR}/deploy/python/perfci_pytest.py
  DESTINATION lib/python3/dist-packages COMPONENT python3-perfci)
install(DIRECTORY ${dist} DESTINATION lib/python3/dist-packages COMPONENT python3-perfci)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME perfci)
set(CPACK_PACKAGE_VENDOR perfci)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "perfci maintainers <perfci@packages.debian.org>")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/deploy/debian/stage.cmake)
set(CPACK_PERFCI_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_COMPONENTS_ALL perfci perfci-server perfci-runner libperfci1 libperfci-dev python3-perfci)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# perfci_package(NAME SUMMARY [SECTION S] [ARCHITECTURE all] [DEPENDS D] [RECOMMENDS R] [SUGGESTS S] [LONG text])
macro(perfci_package name summary)
  cmake_parse_arguments(P "" "SECTION;ARCHITECTURE;DEPENDS;RECOMMENDS;SUGGESTS;LONG" "" ${ARGN})
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${P_LONG}")
  foreach(field SECTION DEPENDS RECOMMENDS SUGGESTS)
    if(P_${field})
      set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${P_${field}}")
    endif()
  endforeach()
  if(P_ARCHITECTURE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE ${P_ARCHITECTURE})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS OFF)
  endif()
  set(extra "")
  foreach(script postinst prerm postrm conffiles triggers shlibs)
    set(file ${PROJECT_SOURCE_DIR}/deploy/debian/scripts/${name}.${script})
    if(EXISTS ${file})
      configure_file(${file} ${CMAKE_BINARY_DIR}/control/${name}/${script} COPYONLY)
      list(APPEND extra ${CMAKE_BINARY_DIR}/control/${name}/${script})
    endif()
  endforeach()
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${extra}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
endmacro()

perfci_package(perfci "performance regressions of ML kernels: command line" DEPENDS git
  RECOMMENDS "perfci-server, perfci-runner, postgresql"
  LONG "perfci measures commits of a repository of kernels, finds changes of\nspeed with their confidence, and names the commit. This package has the\ncommand perfci and the harness perfci-bench.")
perfci_package(perfci-server "performance regressions of ML kernels: service"
  DEPENDS "systemd-standalone-sysusers | systemd-sysusers, tzdata" RECOMMENDS "postgresql, perfci"
  LONG "The server stores benchmark runs, finds change points and suspects, and\nserves the dashboard and the HTTP API. It needs a PostgreSQL database.")
perfci_package(perfci-runner "performance regressions of ML kernels: runner"
  DEPENDS "systemd-standalone-sysusers | systemd-sysusers, git, bubblewrap"
  RECOMMENDS "perfci" SUGGESTS "slurm-client"
  LONG "A runner takes jobs from a perfci server, builds commits in a sandbox\nand measures them.")
perfci_package(libperfci1 "performance regressions of ML kernels: shared library" SECTION libs
  LONG "Change points of series, comparisons of samples and runs, and plans of\nbisections for C and C++ programs.")
perfci_package(libperfci-dev "performance regressions of ML kernels: development files" SECTION libdevel
  DEPENDS "libperfci1 (= ${PROJECT_VERSION})"
  LONG "Header and pkg-config file of the shared library libperfci.")
perfci_package(python3-perfci "performance regressions of ML kernels: Python 3 module" SECTION python ARCHITECTURE all
  DEPENDS "python3 (>= 3.9), libperfci1" SUGGESTS "python3-pandas, python3-pytest"
  LONG "Client of the HTTP API, recorders for benchmarks, verdicts, and a plugin\nfor pytest.")
include(CPack)
