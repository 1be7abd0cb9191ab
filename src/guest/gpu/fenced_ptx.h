// The contract between fenced PTX (compiler/fence) and the device that runs it on a GPU.
//
// A fenced module has a variable of its own, `kFenceVariable` in constant memory (in global memory where the module's
// constants leave no room). The device fills it with FenceWords after loading the module for a client, before the first
// launch. Kernels can read but not write it; the device must not let a client reach it by name. A thread that would
// leave its client's memory writes a FenceFault, if it is the first, and exits; the kernel ends as if nothing had
// happened. So the device must check `state` after each kernel, and may at any time.
//
// An address in the window without memory would be a fault of the hardware, which ends everybody's context. So there is
// a map of the window, in which the device notes what has memory: after it has mapped some, and before it unmaps it,
// while no kernel of the client runs. Most accesses need no look at the map: they lie in the run, which is memory
// without a hole from `run_base` on. It may grow while kernels run, and shrink or begin elsewhere only while none does.
//
// No driver takes a kernel off the GPU. So threads that jump back look now and then at a word, and exit when it is set.
//
// Nor does it take back a launch, and where another client's kernel holds the whole device, one that has not begun
// waits for the end of that. So it can be withdrawn (LaunchGates).
//
// Layouts here are baked into generated code.
#pragma once

#include <cstdint>

namespace tutti::guest {

inline constexpr const char* kFenceVariable = "__tutti_fence";
// Prefix of all names that the fence adds to a module; a client's module may have none.
inline constexpr const char* kFencePrefix = "__tutti_";

// A byte of the map is for so much of the window.
inline constexpr uint32_t kFenceSlabLog2 = 21;
inline constexpr uint64_t kFenceSlabBytes = uint64_t{1} << kFenceSlabLog2;
enum FenceMapBits : uint8_t { kFenceReadable = 1, kFenceWritable = 2 };

// The last parameter of a fenced kernel, of 64 bits: the launch's number, from 1, or 0: it cannot be withdrawn. Missing
// where the kernel's own parameters leave no room.
inline constexpr const char* kLaunchParameter = "__tutti_launch";
inline constexpr uint32_t kLaunchGates = 4096;  // launches that are not done, of one client, at most

// Where a client's launches say that they have begun, and learn whether they may. A thread first writes its launch's
// number, and then reads the verdict, with a barrier between; who withdraws has threads wait, and then reads whether
// any has come. So one of both sees the other.
enum class LaunchVerdict : uint64_t { kGoOn = 0, kWait = 1, kEnd = 2 };
struct LaunchGates {
  uint64_t verdict;  // the device's: a LaunchVerdict
  uint64_t begun[kLaunchGates];  // by number modulo that; 2 * number: its threads have come, + 1: and go on
};

// Of the device, that a client's map takes for a window of so many bytes, with what lies behind it: how much has been
// printed, whether threads are to end, and the launches' gates.
constexpr uint64_t FenceBytes(uint64_t window_bytes) {
  return (window_bytes / kFenceSlabBytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t) +
         2 * sizeof(uint64_t) + sizeof(LaunchGates);
}

struct FenceWords {
  uint64_t run_base;  // a multiple of 32
  uint64_t run_bytes;
  uint64_t fault;  // device address of a FenceFault, outside of every client's memory; zeroed by the device
  uint64_t module;  // FenceFault::module
  uint64_t window_base;  // the client's addresses, a multiple of kFenceSlabBytes
  uint64_t window_bytes;  // 0: nothing but the run has memory
  uint64_t map;  // device address of the window's bytes, outside of every client's memory
  uint64_t stop;  // device address of a word outside of every client's memory; 0: none. Not 0 there: threads end
  uint64_t prints;  // device address of a PrintFifo (guest/gpu/print_fifo.h); 0: what is printed is dropped
  uint64_t printed;  // device address of 8 bytes outside of every client's memory: the bytes ever reserved there
  uint64_t gates;  // device address of LaunchGates outside of every client's memory; 0: every launch goes on
};

struct FenceFault {
  uint32_t state;  // 0 none, 1 being written, 2 complete
  uint32_t kind;  // guest::FaultKind
  uint64_t address;
  uint32_t ptx_line;  // of the unfenced text
  uint32_t function;  // index in FencedModule::functions
  uint32_t ctaid[3];
  uint32_t tid[3];
  uint32_t module;  // as the device has numbered it
  uint32_t reserved;
};
static_assert(sizeof(FenceWords) == 88 && sizeof(FenceFault) == 56);

}  // namespace tutti::guest
