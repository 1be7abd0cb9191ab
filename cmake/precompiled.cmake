# Precompiled headers: sets that are compiled once, each used by the targets of one or more folders. A set holds what most
# of their sources include anyway (the standard library, LLVM, GoogleTest), never a header of ours, since those change.
# The preset `dev` builds without them, and so finds missing #includes.
#
#   tutti_precompiled(name [TEST] [FROM set] [DEPENDS target ...] HEADERS a.h ...)   the headers of another set come first;
#                                      TEST: for tests, which are compiled as tutti_as_test says
#   set(TUTTI_PRECOMPILED name)        of libraries and programs from here on in this folder and below; none: without
#   set(TUTTI_PRECOMPILED_TEST name)   of tests
function(tutti_precompiled name)
  cmake_parse_arguments(ARG "TEST" "FROM" "HEADERS;DEPENDS" ${ARGN})
  get_property(inherited GLOBAL PROPERTY TUTTI_PRECOMPILED_${ARG_FROM})
  set(headers ${inherited})
  foreach(header ${ARG_HEADERS})
    list(APPEND headers "<${header}>")
  endforeach()
  set_property(GLOBAL PROPERTY TUTTI_PRECOMPILED_${name} "${headers}")
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(tutti_precompiled_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(tutti_precompiled_${name} PRIVATE ${ARG_DEPENDS} Threads::Threads)
  target_precompile_headers(tutti_precompiled_${name} PRIVATE ${headers})
  tutti_as_precompiled(tutti_precompiled_${name})
  if(ARG_TEST)
    tutti_as_test(tutti_precompiled_${name})
  endif()
endfunction()

# Tests are not optimized: a third of the whole build is spent on them, and they call code that is.
function(tutti_as_test target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
endfunction()

# Options that compilers compare with a set's: one code model for libraries and programs, and with clang no time stamp in
# the set (ccache). GCC 12 does not treat headers from a set as system headers, and so warns about libstdc++.
function(tutti_as_precompiled target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>
    $<$<CXX_COMPILER_ID:GNU>:SHELL:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>)
endfunction()

function(tutti_use_precompiled target set)
  if(set STREQUAL "none" OR CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM tutti_precompiled_${set})
  tutti_as_precompiled(${target})
endfunction()

set(TUTTI_PRECOMPILED standard)
set(TUTTI_PRECOMPILED_TEST test)
tutti_precompiled(standard HEADERS
  algorithm array atomic bit chrono cstdint cstring expected functional map memory mutex optional set span string string_view
  thread unordered_map utility variant vector fmt/format.h)
tutti_precompiled(test TEST FROM standard DEPENDS GTest::gtest GTest::gmock HEADERS gtest/gtest.h gmock/gmock.h)
