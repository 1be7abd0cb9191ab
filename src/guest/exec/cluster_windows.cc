// Address space is not memory: a view reserves 2^kViewShift bytes and the file's slots are mostly holes. The check of
// addresses ends each window where the launch says; behind it the same client's holes follow, and then nothing.
#include "guest/exec/cluster_windows.h"

#include <sys/mman.h>

#include "cuda/result.h"
#include "os/memory.h"

namespace tutti::guest {
namespace {

constexpr uint64_t kSlotBytes = uint64_t{1} << kSlotShift, kViewBytes = uint64_t{1} << kViewShift;
static_assert((1 + kMaxClusterBlocks) * kSlotBytes <= kViewBytes);

}  // namespace

Status ClusterWindows::Require(uint32_t blocks, uint64_t window_bytes) {
  if (blocks > blocks_) {
    Release();
    if (Status mapped = Map(blocks); !mapped) {
      Release();
      return mapped;
    }
  }
  if (window_bytes > most_bytes_) most_bytes_ = window_bytes;
  return {};
}

Status ClusterWindows::Map(uint32_t blocks) {
  const auto failed = [] {
    return FailErrno("mapping the shared memory of a cluster", cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  };
  // Its mappings keep it.
  const auto file = os::CreateMemory("tutti-cluster", blocks * kSlotBytes);
  if (!file) return Fail(cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, file.error().text);
  void* const base = mmap(nullptr, blocks * kViewBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return failed();
  base_ = static_cast<uint8_t*>(base);
  blocks_ = blocks;
  const auto map = [&file](uint8_t* at, uint64_t bytes, uint64_t offset) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->get(), static_cast<off_t>(offset)) !=
           MAP_FAILED;
  };
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    if (!map(view(rank), kSlotBytes, rank * kSlotBytes) || !map(view(rank) + kSlotBytes, blocks * kSlotBytes, 0))
      return failed();
  }
  return {};
}

// By giving the pages back: what a client has left is gone, wherever it wrote.
void ClusterWindows::Clean() {
  if (most_bytes_ == 0) return;
  if (madvise(view(0) + kSlotBytes, blocks_ * kSlotBytes, MADV_REMOVE) != 0) Release();
  most_bytes_ = 0;
}

void ClusterWindows::Release() {
  if (base_ != nullptr) munmap(base_, blocks_ * kViewBytes);
  base_ = nullptr;
  blocks_ = 0;
  most_bytes_ = 0;
}

}  // namespace tutti::guest
