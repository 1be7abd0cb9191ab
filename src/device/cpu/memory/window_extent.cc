#include "device/cpu/memory/window_extent.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/checked.h"
#include "cuda/result.h"
#include "device/cpu/memory/huge_pages.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kStepBytes = kHugePageBytes;

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Status WindowExtent::Close(uint64_t base, uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(Pointer(base), bytes, PROT_READ, kFlags, -1, 0) == MAP_FAILED) return FailErrno("closing a client's window");
  // One page of zeros per 2 MiB instead of one per 4 KiB, where the system has huge pages.
  madvise(Pointer(base), bytes, MADV_HUGEPAGE);
  return {};
}

Status WindowExtent::Map(uint64_t begin, uint64_t end) const {
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  const int protection = writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
  const auto at = static_cast<off_t>(fd_offset_ + (begin - base_));
  if (mmap(Pointer(begin), end - begin, protection, kFlags, fd_, at) == MAP_FAILED)
    return FailErrno("opening a client's window", cuda::CUDA_ERROR_OUT_OF_MEMORY);
  madvise(Pointer(begin), end - begin, MADV_HUGEPAGE);  // allows huge_pages.h to make some
  return {};
}

Status WindowExtent::Open(uint64_t begin, uint64_t end) {
  const uint64_t open_begin = begin_.load(std::memory_order_relaxed), open_end = end_.load(std::memory_order_relaxed);
  const uint64_t first = base_ + (begin - base_) / kStepBytes * kStepBytes;
  const uint64_t last = std::min(base_ + bytes_, base_ + AlignUp(end - base_, kStepBytes));
  if (first < open_begin) {
    TUTTI_TRY(Map(first, open_begin));
    begin_.store(first, std::memory_order_release);
  }
  if (last > open_end) {
    TUTTI_TRY(Map(open_end, last));
    end_.store(last, std::memory_order_release);
  }
  return {};
}

}  // namespace tutti::device::cpu
