// The guest runtime: functions that kernels call, written in C++ (this folder), compiled to bitcode and to an object
// when Tutti is built, and embedded in the compiler. Thread-safe.
//
// Functions by family, all on vectors of 32 by value; a set of lanes is an i32 with bit l for lane l:
//   tutti_v_<name>            every row of functions.def
//   tutti_{gather,scatter}_<T>, ..._at_<T>, T = i8 i16 i32 i64 lane_memory.cc
//   tutti_rare_{load,store}_<T>, tutti_rare_{load,store}_run_<T>  rare_access.cc
//   tutti_rare_store_part_<T>, T = i32 i64                     rare_access.cc
//   tutti_mma_<shape>_<types>                                  matrix.cc
//   tutti_permute_i32, tutti_match_{any,all}_{i32,i64}          warp.cc
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

// Adds to `module` the runtime functions that it declares, as internal functions. Call before ApplyTarget. Fails if a
// declared tutti_* function is not in the runtime, or its type differs.
Status LinkGuestRuntime(llvm::Module& module);

// The object that provides what the code generator itself may call (memcpy, fmaf, ...); linked with every kernel.
std::span<const uint8_t> SupportObject();

}  // namespace tutti::compiler
