// Runs compiled kernels over host memory, on the calling thread, without a device: to test and measure lowering,
// widening and the guest runtime end to end.
//
// Blocks run as in the product (guest/exec). It has nothing of what the device does around that for fairness and
// isolation: blocks run one after another, a fault ends the run, global memory is this process's memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {

// When newer code comes for a grid whose blocks do not run together.
enum class NewerCode : uint8_t {
  kNever,
  kAtOnce,  // when a block has begun: it begins anew where it first looks for it, if it does
  kNowAndThen,  // at some moments
};

struct GridLaunch {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  std::vector<uint8_t> params;  // the parameter buffer, as laid out by the kernel
  uint32_t dynamic_shared_bytes = 0;
  uint64_t module_base = 0;  // the module's variables
  uint64_t window_base = 0;  // the memory the kernel may touch; bytes 0: the whole address space
  uint64_t window_bytes = 0;
  uint64_t window_reach = 0;  // of it, when blocks begin; 0: all
  uint64_t window_reach_now = 0;  // what KernelHost::MayTouch answers with; 0: the same
  bool cooperative = false;  // all blocks are resident at once
  NewerCode newer_code = NewerCode::kNever;
  const guest::KernelDescriptor* newer = nullptr;  // which; null: the same again
  uint32_t spare_stack_bytes = 0;  // unoptimised code needs more stack than its descriptor says

  // Appends a parameter at its natural alignment.
  template <typename T>
  GridLaunch& Param(const T& value) {
    params.resize((params.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    params.insert(params.end(), bytes, bytes + sizeof(T));
    return *this;
  }
};

struct GuestFault {
  guest::FaultKind kind = guest::FaultKind::kLaunchFailed;
  std::array<uint32_t, 3> ctaid = {};
  uint32_t thread = 0;  // linear index in its block
  uint64_t address = 0;
  uint32_t ptx_line = 0;  // 0: unknown
  std::string text;  // of an assertion, or what the block's warps did wrong (guest::TextOf)
  uint32_t lanes = 0;  // that the text is about
};

struct GridResult {
  std::string output;  // what the kernel printed
  std::optional<GuestFault> fault;
  uint64_t yields = 0;  // times that all warps of a block waited for memory
  uint64_t begun_anew = 0;  // blocks
};

GridResult RunGrid(const guest::KernelDescriptor& descriptor, const GridLaunch& launch);

}  // namespace tutti::compiler
