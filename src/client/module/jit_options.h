// JIT options. Log buffers are filled, and CU_JIT_MAX_REGISTERS bounds what kernels report; other options about machine
// code do not apply to this device and are accepted without effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cuda/types.h"

namespace tutti::client {

// A view of the caller's two lists: valid as long as they are.
class JitOptions {
 public:
  JitOptions() = default;
  JitOptions(unsigned count, cuda::CUjit_option* options, void** values)
      : count_(count), options_(options), values_(values) {}

  // CU_JIT_MAX_REGISTERS: what the program wants a thread to have at most; 0: it says nothing.
  uint32_t MostRegisters() const;
  bool valid() const { return count_ == 0 || (options_ != nullptr && values_ != nullptr); }
  // Writes the texts into the caller's buffers, truncated to their sizes, and the written lengths into the size
  // options.
  void WriteInfo(std::string_view text) const;
  void WriteError(std::string_view text) const;

 private:
  void Write(cuda::CUjit_option buffer, cuda::CUjit_option size, std::string_view text) const;
  void** ValueOf(cuda::CUjit_option option) const;

  unsigned count_ = 0;
  cuda::CUjit_option* options_ = nullptr;
  void** values_ = nullptr;
};

}  // namespace tutti::client
