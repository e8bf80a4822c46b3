# Flags, and the three shapes everything in the tree has: a library a folder, a program, a test.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(PERFCI_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
option(PERFCI_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(PERFCI_WERROR "Warnings are errors (as in CI)" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_program(PERFCI_CCACHE ccache)
if(PERFCI_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${PERFCI_CCACHE})
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

add_library(perfci_flags INTERFACE)
target_include_directories(perfci_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_definitions(perfci_flags INTERFACE _GNU_SOURCE)
target_compile_options(perfci_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-g> -fno-omit-frame-pointer -ffp-contract=off)
target_link_libraries(perfci_flags INTERFACE Threads::Threads m)

# Apart from the flags, so that code with foreign headers can leave some out.
add_library(perfci_warnings INTERFACE)
target_compile_options(perfci_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wdouble-promotion -Wshadow -Wundef -Wvla
  -Wcast-qual -Wwrite-strings -Wpointer-arith -Wformat=2 -Wswitch-enum
  -Wimplicit-fallthrough -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  # With -O2 gcc follows paths that an error code excludes, and warns of what cannot happen.
  target_compile_options(perfci_warnings INTERFACE -Wnull-dereference)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(perfci_warnings INTERFACE
    -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wjump-misses-init -Wcast-align=strict)
else()
  target_compile_options(perfci_warnings INTERFACE
    -Wcomma -Wconditional-uninitialized -Wcast-align -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(PERFCI_WERROR)
  target_compile_options(perfci_warnings INTERFACE -Werror)
endif()

if(PERFCI_SANITIZE)
  target_compile_options(perfci_flags INTERFACE -fsanitize=${PERFCI_SANITIZE} -fno-sanitize-recover=undefined)
  string(REPLACE "fuzzer-no-link" "" PERFCI_SANITIZE_LINK "${PERFCI_SANITIZE}")
  string(REGEX REPLACE ",+$" "" PERFCI_SANITIZE_LINK "${PERFCI_SANITIZE_LINK}")
  target_link_options(perfci_flags INTERFACE -fsanitize=${PERFCI_SANITIZE_LINK})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(perfci_flags INTERFACE
    -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fPIE
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>)
  target_link_options(perfci_flags INTERFACE -pie -Wl,-z,relro,-z,now)
endif()

# perfci_library(NAME SOURCES a.c b.c DEPS other PkgConfig::X): static library `pfc_NAME`.
function(perfci_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_library(pfc_${name} STATIC ${A_SOURCES})
  target_link_libraries(pfc_${name} PUBLIC perfci_flags ${A_DEPS} PRIVATE perfci_warnings)
endfunction()

# The flags of `perfci_flags` for a shared object: its link options make programs.
function(perfci_pic_flags target)
  get_target_property(dirs perfci_flags INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(definitions perfci_flags INTERFACE_COMPILE_DEFINITIONS)
  get_target_property(options perfci_flags INTERFACE_COMPILE_OPTIONS)
  target_include_directories(${target} PRIVATE ${dirs})
  target_compile_definitions(${target} PRIVATE ${definitions})
  target_compile_options(${target} PRIVATE ${options} -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections)
endfunction()

# perfci_pic_parts(OUT NAME...): the sources of the libraries pfc_NAME once more, for a shared object; OUT has the
# targets. Properties of files (perfci_loops) are those of the library's folder.
function(perfci_pic_parts out)
  set(parts "")
  foreach(name ${ARGN})
    get_target_property(files pfc_${name} SOURCES)
    get_target_property(folder pfc_${name} SOURCE_DIR)
    get_target_property(links pfc_${name} LINK_LIBRARIES)
    list(FILTER links INCLUDE REGEX "^PkgConfig::")
    add_library(pic_${name} STATIC EXCLUDE_FROM_ALL)
    foreach(file ${files})
      target_sources(pic_${name} PRIVATE ${folder}/${file})
      get_source_file_property(options ${folder}/${file} TARGET_DIRECTORY pfc_${name} COMPILE_OPTIONS)
      if(options)
        set_source_files_properties(${folder}/${file} PROPERTIES COMPILE_OPTIONS "${options}")
      endif()
    endforeach()
    perfci_pic_flags(pic_${name})
    target_link_libraries(pic_${name} PRIVATE perfci_warnings PUBLIC ${links})
    list(APPEND parts pic_${name})
  endforeach()
  set(${out} ${parts} PARENT_SCOPE)
endfunction()

# perfci_program(perfci-x SOURCES main.c DEPS ...): lands in build/PRESET/bin.
function(perfci_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE perfci_flags perfci_warnings ${A_DEPS})
endfunction()

# perfci_pkg(criterion): imported target PkgConfig::criterion, found once.
macro(perfci_pkg name)
  if(NOT TARGET PkgConfig::${name})
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${name})
  endif()
endmacro()

# What Criterion's macros trip over. A library, named last, because a target's own options come before
# those of what it links, and the last word counts.
add_library(perfci_test_flags INTERFACE)
target_compile_options(perfci_test_flags INTERFACE -Wno-conversion -Wno-sign-conversion
  -Wno-write-strings -Wno-double-promotion -Wno-pedantic -Wno-cast-qual -Wno-format-zero-length
  $<$<C_COMPILER_ID:GNU>:-Wno-discarded-qualifiers>
  # A test's own code runs once, and to optimise it takes longer than to run it. The sanitizer build optimises it, for
  # the warnings that need that.
  $<$<CONFIG:Release>:-O0;-g1;-U_FORTIFY_SOURCE>)
# Hundreds of programs are linked; gold takes half of the time. What is shipped has the compiler's own linker.
find_program(PERFCI_GOLD ld.gold)
mark_as_advanced(PERFCI_GOLD)
if(PERFCI_GOLD AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(perfci_test_flags INTERFACE -fuse-ld=gold)
endif()

# perfci_test(test_x LABEL unit SOURCES test_x.c DEPS pfc_y [TIMEOUT s] [COST s] [ENV "A=b"...]): a
# Criterion program. COST: about how long it takes on two cores, with the
# sanitizers where it runs with them, when that is more than 10 s.
# LONG: labelled `long`, too. deploy/test.sh leaves these out; deploy/prove.sh --only suite runs them. LONG_SANITIZED: so in
# the sanitizer builds alone.
function(perfci_test name)
  cmake_parse_arguments(A "LONG;LONG_SANITIZED" "LABEL;TIMEOUT;COST" "SOURCES;DEPS;ENV" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE perfci_flags perfci_warnings ${A_DEPS} pfc_test_check
    perfci_test_flags)
  target_compile_definitions(${name} PRIVATE
    PFC_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" PFC_TEST_SOURCE="${PROJECT_SOURCE_DIR}"
    PFC_TEST_BIN="${CMAKE_BINARY_DIR}/bin")
  add_test(NAME ${name} COMMAND ${name})
  perfci_test_properties(${name} LABEL ${A_LABEL} TIMEOUT ${A_TIMEOUT} COST ${A_COST} LONG ${A_LONG}
    LONG_SANITIZED ${A_LONG_SANITIZED} ENV ${A_ENV})
endfunction()

# perfci_script_test(NAME LABEL e2e COMMAND ${PERFCI_PYTHON} x.py ... [LONG|LONG_SANITIZED] [TIMEOUT s] [COST s] [ENV ...])
function(perfci_script_test name)
  cmake_parse_arguments(A "LONG;LONG_SANITIZED" "LABEL;TIMEOUT;COST" "COMMAND;ENV" ${ARGN})
  add_test(NAME ${name} COMMAND ${A_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  perfci_test_properties(${name} LABEL ${A_LABEL} TIMEOUT ${A_TIMEOUT} COST ${A_COST} LONG ${A_LONG}
    LONG_SANITIZED ${A_LONG_SANITIZED} ENV ${A_ENV})
endfunction()

function(perfci_test_properties name)
  cmake_parse_arguments(A "" "LABEL;TIMEOUT;COST;LONG;LONG_SANITIZED" "ENV" ${ARGN})
  set(labels ${A_LABEL})
  if(A_LONG OR (A_LONG_SANITIZED AND PERFCI_SANITIZE))
    list(APPEND labels long)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 900) # for a test that hangs; a busy machine is no reason to fail
  endif()
  if(CMAKE_CROSSCOMPILING)
    set(A_TIMEOUT 7200) # an emulator takes tens of times as long
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${A_TIMEOUT}
    SKIP_RETURN_CODE 77 ENVIRONMENT_MODIFICATION "${PERFCI_TESTS_PATH}"
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;PERFCI_SOURCE_DIR=${PROJECT_SOURCE_DIR};PERFCI_BIN_DIR=${CMAKE_BINARY_DIR}/bin;PERFCI_TEST_DIR=${CMAKE_BINARY_DIR}/tests;${A_ENV}")
  if(PERFCI_SANITIZE)
    # Of the programs that a test starts, too, whose status it may not look at.
    set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "Sanitizer|runtime error:")
  endif()
  # Long ones first, so that no core waits for a last one. A program waits for others much of its time
  # (for a cluster to start, for a stack, for a page), and what runs beside it fills that.
  if(A_COST)
    set_tests_properties(${name} PROPERTIES COST ${A_COST})
  endif()
endfunction()
