// The contract between fenced PTX (compiler/fence) and the device that runs it on a GPU.
//
// A fenced module has a variable of its own, `kFenceVariable` in constant memory (in global memory where the module's
// constants leave no room). The device fills it with FenceWords after loading the module for a client, before the first
// launch. Kernels can read but not write it; the device must not let a client reach it by name. A thread that would
// leave its client's memory writes a FenceFault, if it is the first, and exits; the kernel ends as if nothing had
// happened. So the device must check `state` after each kernel, and may at any time.
//
// Layouts here are baked into generated code.
#pragma once

#include <cstdint>

namespace tutti::guest {

inline constexpr const char* kFenceVariable = "__tutti_fence";
// Prefix of all names that the fence adds to a module; a client's module may have none.
inline constexpr const char* kFencePrefix = "__tutti_";

struct FenceWords {
  uint64_t window_base;  // the client's memory: a multiple of 16
  uint64_t window_bytes;
  uint64_t fault;  // device address of a FenceFault, outside of every client's memory; zeroed by the device
  uint64_t reserved;
};

struct FenceFault {
  uint32_t state;  // 0 none, 1 being written, 2 complete
  uint32_t kind;  // guest::FaultKind
  uint64_t address;
  uint32_t ptx_line;  // of the unfenced text
  uint32_t function;  // index in FencedModule::functions
  uint32_t ctaid[3];
  uint32_t tid[3];
};
static_assert(sizeof(FenceWords) == 32 && sizeof(FenceFault) == 48);

}  // namespace tutti::guest
