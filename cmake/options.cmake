# Settings of the whole build: language, warnings, sanitizers, output folders.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(LLD ld.lld-19)
if(LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(--ld-path=${LLD})
endif()

# A sanitizer's run-time is a shared library: programs built without it load libcuda.so.1, and preload the run-time
# (cmake/sanitizers.cmake).
set(TUTTI_SANITIZE "" CACHE STRING "address (with undefined) or thread")
if(TUTTI_SANITIZE STREQUAL "address")
  # Without -fsanitize=function: callers of the driver have their own names for its opaque types.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=function -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(TUTTI_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(TUTTI_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT TUTTI_FUZZ)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-resource-dir OUTPUT_VARIABLE TUTTI_SANITIZER_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(APPEND TUTTI_SANITIZER_DIR /lib/linux)
  add_link_options(-shared-libsan -Wl,-rpath,${TUTTI_SANITIZER_DIR})
endif()

option(TUTTI_LLVM "the CPU device's compiler, and all tests; without it a build needs no LLVM, and serves GPUs" ON)

option(TUTTI_FUZZ "build tests/fuzz, with coverage in everything they link" OFF)
if(TUTTI_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
add_compile_definitions(TUTTI_VERSION="${PROJECT_VERSION}")
include_directories(${CMAKE_SOURCE_DIR}/src)
add_library(tutti_fmt STATIC ${CMAKE_SOURCE_DIR}/src/base/fmt.cc)  # for whatever is declared from here on
link_libraries(tutti_fmt)

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
