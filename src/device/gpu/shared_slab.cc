#include "device/gpu/shared_slab.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace tutti::device::gpu {
namespace {

constinit std::atomic<uint32_t> open_of_all{0};

uint64_t MostFiles() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

uint64_t DescriptorPlace::MostOfAll(uint64_t files) {
  constexpr uint64_t kPart = 8, kMost = 1 << 20;
  return std::min(files, kMost) / kPart;
}

DescriptorPlace::DescriptorPlace(std::shared_ptr<std::atomic<uint32_t>> of_space) {
  const auto most = static_cast<uint32_t>(MostOfAll(MostFiles()));
  if (of_space->fetch_add(1, std::memory_order_relaxed) >= (most + 1) / 2) {
    of_space->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  if (open_of_all.fetch_add(1, std::memory_order_relaxed) >= most) {
    open_of_all.fetch_sub(1, std::memory_order_relaxed);
    of_space->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  of_space_ = std::move(of_space);
}

DescriptorPlace::~DescriptorPlace() {
  if (of_space_ == nullptr) return;
  open_of_all.fetch_sub(1, std::memory_order_relaxed);
  of_space_->fetch_sub(1, std::memory_order_relaxed);
}

SharedSlab::~SharedSlab() {
  if (!left_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(home_->mutex);
  if (home_->gone) {
    home_->gone(counted_);
  } else {
    account_->Release(counted_, groups_);
  }
}

}  // namespace tutti::device::gpu
