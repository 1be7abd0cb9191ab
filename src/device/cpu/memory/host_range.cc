#include "device/cpu/memory/host_range.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "cuda/result.h"
#include "os/memory.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
constinit std::atomic<uint64_t> all_ranges{0};

// Each range has a file open; control/open_files.h leaves room for so many.
uint64_t MostOfAll() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return std::min<uint64_t>(limit.rlim_cur / 32, HostRange::kMostOfAll);
}

// More than the machine has is had by nobody, whatever a client may hold.
uint64_t MostBytes() { return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * kPageBytes; }

}  // namespace

HostRange::Place::Place(std::shared_ptr<HostShare> share) {
  if (share->files.fetch_add(1, std::memory_order_relaxed) >= kMostOfOne) {
    share->files.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  if (all_ranges.fetch_add(1, std::memory_order_relaxed) >= MostOfAll()) {
    all_ranges.fetch_sub(1, std::memory_order_relaxed);
    share->files.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  share_ = std::move(share);
}

HostRange::Place::~Place() {
  if (share_ == nullptr) return;
  all_ranges.fetch_sub(1, std::memory_order_relaxed);
  share_->files.fetch_sub(1, std::memory_order_relaxed);
}

Result<std::shared_ptr<SharedMemory>> HostRange::Create(uint64_t bytes, std::shared_ptr<HostShare> share) {
  if (bytes == 0 || bytes % kPageBytes != 0)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("{} bytes are not whole pages", bytes));
  HostHold hold(share.get(), bytes);
  if (!hold || bytes > MostBytes()) return share->Refuse(bytes);
  Place place(std::move(share));
  if (!place) {
    return Fail(
        cuda::CUDA_ERROR_OUT_OF_MEMORY,
        fmt::format("a client may have {} pieces of shared host memory, and all together {}", kMostOfOne, MostOfAll()));
  }
  auto file = os::CreateMemory("tutti-host-memory", bytes);
  if (!file) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, file.error().text);
  return std::shared_ptr<SharedMemory>(
      new HostRange(std::make_shared<const os::Fd>(std::move(*file)), bytes, std::move(place), std::move(hold)));
}

HostRange::HostRange(std::shared_ptr<const os::Fd> file, uint64_t bytes, Place place, HostHold hold)
    : SharedRange(std::make_shared<Home>(file), 0, 0, 0, bytes, 0, nullptr, {}),
      file_(std::move(file)),
      place_(std::move(place)),
      hold_(std::move(hold)) {}

HostRange::~HostRange() {
  fallocate(file_->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes()));
}

}  // namespace tutti::device::cpu
