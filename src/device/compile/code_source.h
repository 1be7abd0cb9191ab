// The source of kernels. The CPU device asks it for a module's index and for each kernel it is about to run; behind it
// are the code cache and the compiler processes (or, in tests, functions compiled into the test).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "device/compile/code_replacement.h"
#include "device/compile/image_store.h"
#include "guest/cpu/kernel_abi.h"
#include "module/module_index.h"

namespace tutti::device {

// Loaded machine code, which stays in memory as long as this is held.
struct LoadedKernel {
  virtual ~LoadedKernel() = default;
  const guest::KernelDescriptor* descriptor = nullptr;
  bool is_quick = false;  // code that was there soon, and takes several times as long as the optimised one
  // Of quick code: what is to come in its place. Null: nothing.
  std::shared_ptr<CodeReplacement> replacement;
};

// Becomes true when nobody needs the answer any more.
using Cancelled = std::atomic<bool>;

// Thread-safe. Both calls may take seconds, but return soon after `cancelled` becomes true, with
// CUDA_ERROR_MPS_CLIENT_TERMINATED. The code of errors is a CUresult, their text the JIT log.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // `image`: PTX text or a fatbin, as the client gave it.
  virtual Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t> image,
                                                                   const Cancelled& cancelled) = 0;
  // `kernel` is an index in index.kernels. `block`: the shape it will be launched with; 0,0,0: any shape. Perhaps quick
  // code: who keeps it awaits its replacement.
  virtual Result<std::shared_ptr<const LoadedKernel>> Kernel(std::span<const uint8_t> image,
                                                             const module::ModuleIndex& index, uint32_t kernel,
                                                             const uint32_t block[3], const Cancelled& cancelled) = 0;
  // Of all clients that it serves.
  ImageStore& images() { return images_; }

 private:
  ImageStore images_;
};

}  // namespace tutti::device
