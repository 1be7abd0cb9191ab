#include "guest/exec/guest_stack.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "cuda/result.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

constexpr size_t kLeastBytes = 64 << 10;
constexpr size_t kMostBytes = 64 << 20;

}  // namespace

GuestStacks::~GuestStacks() { Unmap(); }

Status GuestStacks::Require(uint32_t count, size_t bytes) {
  if (count <= count_ && bytes <= stack_bytes_) return {};
  if (bytes > kMostBytes) return Fail(cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the kernel needs too large a stack");
  count = std::max(count, count_);
  bytes = std::max({std::bit_ceil(bytes), stack_bytes_, kLeastBytes});
  Unmap();
  const size_t total = count * (kGuardBytes + bytes);
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return FailErrno("mapping stacks for a block", cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  base_ = static_cast<uint8_t*>(base);
  count_ = count;
  stack_bytes_ = bytes;
  for (uint32_t i = 0; i < count; ++i) {
    if (mprotect(base_ + i * stride(), kGuardBytes, PROT_NONE) != 0) {
      auto error = FailErrno("guarding the stacks of a block", cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
      Unmap();
      return error;
    }
  }
  return {};
}

bool GuestStacks::IsGuard(uint64_t address) const {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(base_);
  return base_ != nullptr && offset < count_ * stride() && offset % stride() < kGuardBytes;
}

void GuestStacks::Unmap() {
  if (base_ != nullptr) {
    SanitizerForgetStack(base_, count_ * stride());
    munmap(base_, count_ * stride());
  }
  base_ = nullptr;
  count_ = 0;
  stack_bytes_ = 0;
}

}  // namespace tutti::guest
