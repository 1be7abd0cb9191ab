# Kernels of our own, in CUDA C++, for the libraries of the CPU device (src/libraries): clang compiles them to PTX when Tutti is
# built, without a CUDA toolkit.
find_program(TUTTI_DEVICE_CLANG clang++-19 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

# tutti_device_code(target a.cu [NAME name] [FLAGS ...]): compiles a.cu for sm_75, which every compute capability that the device
# reports can load, and embeds the PTX, which DEVICE_CODE(name) declares (libraries/common/device_code.h). `name` is the file's
# without suffix unless it is given: one source may be compiled several times, with other FLAGS (-DREAL=double).
# Its headers are tracked. Products and sums are not contracted to FMAs: kernels ask for those that they want.
function(tutti_device_code target source)
  cmake_parse_arguments(ARG "" "NAME" "FLAGS" ${ARGN})
  if(NOT ARG_NAME)
    get_filename_component(ARG_NAME ${source} NAME_WE)
  endif()
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.ptx)
  add_custom_command(OUTPUT ${ptx}
    COMMAND ${TUTTI_DEVICE_CLANG} -x cuda -std=c++20 --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib -O3 -S
      -ffp-contract=off -fno-exceptions -Wall -Wextra -Wno-unused-function -Wno-unknown-cuda-version -Wno-pass-failed -I${CMAKE_SOURCE_DIR}/src
      -include ${CMAKE_SOURCE_DIR}/src/libraries/common/cuda_names.cuh ${ARG_FLAGS} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      -o ${ptx} -MD -MF ${ptx}.d
    DEPENDS ${source} ${CMAKE_SOURCE_DIR}/src/libraries/common/cuda_names.cuh DEPFILE ${ptx}.d
    COMMENT "Device code: ${ARG_NAME}" VERBATIM)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_ptx.S)
  file(CONFIGURE OUTPUT ${embedded} @ONLY CONTENT [=[
    .section .rodata
    .globl tutti_device_code_@ARG_NAME@
    .hidden tutti_device_code_@ARG_NAME@
tutti_device_code_@ARG_NAME@:
    .incbin "@ptx@"
    .byte 0
    .section .note.GNU-stack, "", @progbits
]=])
  set_source_files_properties(${embedded} PROPERTIES OBJECT_DEPENDS ${ptx})
  target_sources(${target} PRIVATE ${embedded})
endfunction()

# tutti_stand_in(target static NAME cublas SOVERSION 13 NAMES "cublas*" [ALSO static ...] [DEPENDS ...]): the shared library libcublas.so.13 of all
# of `static` and the others, in lib/libraries, which only `tutti run` puts in front. It exports the names that the pattern matches, with the
# symbol version that the vendor's have, which is the library's name.
function(tutti_stand_in target static)
  cmake_parse_arguments(ARG "" "NAME;SOVERSION;NAMES" "ALSO;DEPENDS" ${ARGN})
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${map} @ONLY CONTENT "lib@ARG_NAME@.so.@ARG_SOVERSION@ {\n  global: @ARG_NAMES@; tuttiVersion;\n  local: *;\n};\n")
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
  if(NOT EXISTS ${empty})
    file(WRITE ${empty} "")
  endif()
  add_library(${target} SHARED ${empty})
  target_link_libraries(${target} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${static}> ${ARG_DEPENDS} cuda)
  foreach(other ${ARG_ALSO})
    target_link_libraries(${target} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${other}>)
  endforeach()
  if(NOT TUTTI_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  # Its libcuda.so.1 is the one that the process has; else the one beside its folder.
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,-z,defs -Wl,-z,nodelete)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${ARG_NAME} SUFFIX .so.${ARG_SOVERSION} LINK_DEPENDS ${map}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libraries BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
  set_property(GLOBAL APPEND PROPERTY TUTTI_STAND_INS ${target})
endfunction()
