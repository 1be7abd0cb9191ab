# The kinds of target in the tree: a library per folder, and one test program per folder. Each uses the folder's set of
# precompiled headers (cmake/precompiled.cmake).

# Compiles the target's sources eight at a time, those behind the name by themselves: their names clash with neighbours'.
# Headers and templates are most of what a test costs, or a source that uses LLVM. Not where there are no precompiled
# headers, either: the preset `dev` finds missing #includes.
function(tutti_in_batches target)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# tutti_library(name SOURCES a.cc ... [APART a.cc ...] [DEPENDS b ...]); in batches in folders that set TUTTI_IN_BATCHES
function(tutti_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} Threads::Threads)
  if(TUTTI_IN_BATCHES)
    tutti_in_batches(${name} ${ARG_APART})
  endif()
  tutti_use_precompiled(${name} ${TUTTI_PRECOMPILED})
endfunction()

# What is compiled seldom and tests others: not optimized, in batches but for the sources behind the name.
function(tutti_compiled_as_test target)
  tutti_as_test(${target})
  tutti_in_batches(${target} ${ARGN})
  tutti_use_precompiled(${target} ${TUTTI_PRECOMPILED_TEST})
endfunction()

# tutti_test(name SOURCES a_test.cc ... [APART a_test.cc ...] [DEPENDS b ...]): a GoogleTest program; ctest knows each of
# its tests.
function(tutti_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main GTest::gmock Threads::Threads)
  tutti_compiled_as_test(${name} ${ARG_APART})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(NOT TUTTI_LLVM)  # many of them start a CPU device
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

# A program or library that brings libstdc++ along, and runs with a C library of years before. Not with a sanitizer, whose
# run-time must see the functions of both.
function(tutti_for_old_systems target)
  if(NOT TUTTI_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:tutti_old_libc>)
  endif()
endfunction()

# tutti_program(name SOURCES ... [DEPENDS ...]): a program in build/<preset>/bin.
function(tutti_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} Threads::Threads)
  tutti_use_precompiled(${name} ${TUTTI_PRECOMPILED})
endfunction()
