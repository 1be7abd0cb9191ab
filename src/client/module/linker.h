// The JIT linker's interface: collects PTX, fatbins and cubins that carry PTX, and returns them as one image, which a
// module load then compiles and links. It produces no machine code itself.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "cuda/types.h"

namespace tutti::client {

// Thread-safe.
class Linker {
 public:
  static Linker* Find(const void* handle) { return pool_.Find(handle); }
  static Linker* Create() { return pool_.Create(); }
  static int Destroy(Linker* linker);

  cuda::CUlinkState handle() { return reinterpret_cast<cuda::CUlinkState>(this); }
  // Copies the input. NO_BINARY_FOR_GPU for machine code without PTX, INVALID_IMAGE for a fatbin or cubin longer than
  // `bytes`.
  int Add(cuda::CUjitInputType type, const void* data, size_t bytes);
  int AddFile(cuda::CUjitInputType type, const char* path);
  // The image; valid as long as the linker.
  std::span<const uint8_t> Complete();

 private:
  static constinit Pool<Linker, 4096> pool_;

  std::mutex mutex_;
  std::vector<std::vector<uint8_t>> inputs_;
  std::vector<uint8_t> image_;
};

// The whole file, zero-terminated. FILE_NOT_FOUND if it cannot be read.
Answer<std::vector<uint8_t>> ReadFile(const char* path);

}  // namespace tutti::client
