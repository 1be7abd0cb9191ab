#include "device/cpu/memory/huge_page_maker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "os/thread.h"
#include "os/time_slice.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPauseNs = 1'000'000'000;
constexpr std::chrono::milliseconds kLater(1);

}  // namespace

HugePageMaker::HugePageMaker(uint32_t nice, bool works) {
  if (!works) return;
  thread_ = os::TryStartThread("tutti-pages", [this, nice] {
    os::BeNicer(nice);
    Loop();
  });
}

HugePageMaker::~HugePageMaker() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool HugePageMaker::works() const {
  return thread_.joinable() && NowNs() >= works_from_ns_.load(std::memory_order_relaxed);
}

void HugePageMaker::Add(Memory* memory) {
  bool sleeps;
  {
    std::lock_guard lock(mutex_);
    sleeps = waiting_.empty() && current_ == nullptr;  // otherwise it comes by itself
    if (memory == current_) {
      added_again_ = true;
    } else if (std::ranges::find(waiting_, memory) == waiting_.end()) {
      waiting_.push_back(memory);
    }
  }
  if (sleeps) changed_.notify_all();
}

void HugePageMaker::Remove(Memory* memory) {
  std::unique_lock lock(mutex_);
  std::erase(waiting_, memory);
  if (current_ != memory) return;
  leaves_ = true;
  changed_.wait(lock, [&] { return current_ != memory; });
}

void HugePageMaker::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Memory* const memory = waiting_.front();
    waiting_.pop_front();
    current_ = memory;
    lock.unlock();
    const Memory::Made made = memory->MakeOne();
    lock.lock();
    current_ = nullptr;
    const bool added = std::exchange(added_again_, false), leaves = std::exchange(leaves_, false);
    if (made == Memory::Made::kRefused) {
      works_from_ns_.store(NowNs() + kPauseNs, std::memory_order_relaxed);
      waiting_.clear();
    } else if (!leaves && (added || made != Memory::Made::kAllThatWaited)) {
      waiting_.push_back(memory);
    }
    changed_.notify_all();
    if (made == Memory::Made::kNoneYet) changed_.wait_for(lock, kLater, [this] { return stopping_; });
  }
}

}  // namespace tutti::device::cpu
