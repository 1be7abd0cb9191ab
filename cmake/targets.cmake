# The kinds of target in the tree: a library per folder, and one test program per folder. Each uses the folder's set of
# precompiled headers (cmake/precompiled.cmake).

# tutti_library(name SOURCES a.cc ... [DEPENDS b ...])
function(tutti_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} Threads::Threads)
  tutti_use_precompiled(${name} ${TUTTI_PRECOMPILED})
endfunction()

# tutti_test(name SOURCES a_test.cc ... [DEPENDS b ...]): a GoogleTest program; ctest knows each of its tests.
function(tutti_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main GTest::gmock Threads::Threads)
  tutti_as_test(${name})
  tutti_use_precompiled(${name} ${TUTTI_PRECOMPILED_TEST})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

# tutti_program(name SOURCES ... [DEPENDS ...]): a program in build/<preset>/bin.
function(tutti_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} Threads::Threads)
  tutti_use_precompiled(${name} ${TUTTI_PRECOMPILED})
endfunction()
