// The kernels of the leak test's donor and finder: one fills everything that a kernel can fill, the other reads
// everything that it has not written itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../actor.h"

namespace tutti::fault {

inline constexpr uint32_t kSecretWord = 0x5ec2e75e;
inline constexpr uint32_t kSharedWords = 48 * 1024 / 4;
inline constexpr uint32_t kLocalWords = 256;  // of each thread
inline constexpr uint32_t kThreads = 256;
inline constexpr uint32_t kRegisterWords = 64;  // of each lane
inline constexpr uint32_t kBuilt = 7;           // what the module's variables hold at first

class LeakModule {
 public:
  explicit LeakModule(ActorPage& page);

  // Puts the secret into shared memory, local memory, the module's variables and memory of the device's malloc.
  void Plant();
  // The same, and keeps it in registers until the word at `flag` is not zero. Does not wait.
  void Hold(cuda::CUdeviceptr flag);

  // Never written by who calls these:
  std::vector<uint32_t> SharedMemory();
  std::vector<uint32_t> LocalMemory();
  std::vector<uint32_t> Registers();  // of a warp with one thread, and what it gets from the lanes that do not exist
  std::vector<uint32_t> Heap();       // of the device's malloc
  std::vector<uint32_t> Variables();  // a .global one, a .const one

  cuda::CUdeviceptr Variable(const char* name);

 private:
  void Launch(const char* kernel, uint32_t threads, uint32_t shared_bytes, std::vector<void*> arguments);
  std::vector<uint32_t> Found(const char* kernel, uint32_t threads, uint32_t shared_bytes, size_t words);

  ActorPage& page_;
  cuda::CUmodule module_ = nullptr;
};

// Whether the secret stands somewhere in it.
bool HasSecret(const std::vector<uint32_t>& words);

}  // namespace tutti::fault
