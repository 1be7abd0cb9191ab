#include "device/cpu/memory/shared_range.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "cuda/result.h"
#include "os/memory.h"

namespace tutti::device::cpu {
namespace {

constexpr int kMostOutliving = 16;  // control/open_files.h counts them as files of the server's own
constinit std::atomic<int> outliving_files{0};

}  // namespace

SharedRange::Home::~Home() {
  if (outlives) outliving_files.fetch_sub(1, std::memory_order_relaxed);
}

void SharedRange::Home::Outlive() {
  outlives = true;
  if (outliving_files.fetch_add(1, std::memory_order_relaxed) >= kMostOutliving) file.reset();
}

SharedRange::~SharedRange() {
  std::lock_guard lock(home_->mutex);
  if (home_->nobody_holds) {
    home_->nobody_holds(address_, number_);
    return;
  }
  if (home_->outliving.erase(number_) == 0) return;  // it went with its window
  if (home_->file != nullptr) {
    fallocate(home_->file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(file_offset_),
              static_cast<off_t>(bytes_));
  }
  if (account_ != nullptr) account_->Release(bytes_, groups_);
}

Result<std::shared_ptr<SharedMemory>> SharedRange::OfFile(os::Fd file) {
  TUTTI_ASSIGN(const uint64_t bytes, os::SealedMemorySize(file.get()));
  if (bytes == 0) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an empty memory file");
  auto home = std::make_shared<Home>(std::make_shared<const os::Fd>(std::move(file)));
  return std::make_shared<SharedRange>(std::move(home), 0, 0, 0, bytes, 0, nullptr, MemoryGroups());
}

void SharedRange::FillWithLargest() const {
  std::array<int64_t, 512> largest;
  largest.fill(std::numeric_limits<int64_t>::max());
  for (uint64_t done = 0; done < bytes_; done += sizeof largest) {
    const uint64_t count = std::min<uint64_t>(sizeof largest, bytes_ - done);
    if (pwrite(home_->file->get(), largest.data(), count, static_cast<off_t>(file_offset_ + done)) < 0) return;
  }
}

}  // namespace tutti::device::cpu
