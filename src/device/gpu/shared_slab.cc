#include "device/gpu/shared_slab.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kUses = 2;
constinit std::atomic<uint32_t> open_of_all[kUses];

uint64_t MostOfUse(uint64_t files) {
  constexpr uint64_t kPart = 8, kMost = 1 << 20;
  return std::min(files, kMost) / kPart;
}

uint64_t MostFiles() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

uint64_t DescriptorPlace::MostOfAll(uint64_t files) { return kUses * MostOfUse(files); }

DescriptorPlace::DescriptorPlace(Use use, OfSpace of_space) : use_(use) {
  const auto most = static_cast<uint32_t>(MostOfUse(MostFiles()));
  std::atomic<uint32_t>& of_all = open_of_all[static_cast<size_t>(use)];
  if (of_space->fetch_add(1, std::memory_order_relaxed) >= (most + 1) / 2) {
    of_space->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  if (of_all.fetch_add(1, std::memory_order_relaxed) >= most) {
    of_all.fetch_sub(1, std::memory_order_relaxed);
    of_space->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  of_space_ = std::move(of_space);
}

DescriptorPlace::~DescriptorPlace() {
  if (of_space_ == nullptr) return;
  open_of_all[static_cast<size_t>(use_)].fetch_sub(1, std::memory_order_relaxed);
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
