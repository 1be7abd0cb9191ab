#include "device/cpu/memory/window_extent.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/checked.h"
#include "cuda/result.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kStepBytes = 2 << 20;

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Status WindowExtent::Close(uint64_t base, uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(Pointer(base), bytes, PROT_READ, kFlags, -1, 0) == MAP_FAILED) return FailErrno("closing a client's window");
  // One page of zeros per 2 MiB instead of one per 4 KiB, where the system has huge pages.
  madvise(Pointer(base), bytes, MADV_HUGEPAGE);
  return {};
}

Status WindowExtent::OpenTo(uint64_t end) {
  const uint64_t wanted = std::min(bytes_, AlignUp(end - base_, kStepBytes));
  const uint64_t open = open_bytes();
  if (wanted <= open) return {};
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  void* const begin = Pointer(base_ + open);
  const auto at = static_cast<off_t>(fd_offset_ + open);
  const int protection = writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mmap(begin, wanted - open, protection, kFlags, fd_, at) == MAP_FAILED) {
    return FailErrno("opening a client's window", cuda::CUDA_ERROR_OUT_OF_MEMORY);
  }
  open_bytes_.store(wanted, std::memory_order_release);
  return {};
}

}  // namespace tutti::device::cpu
