#include "device/gpu/shared_words.h"

#include <limits>

#include "device/common/raise_counter.h"

namespace tutti::device::gpu {
namespace {

// Its client does so, too.
template <typename Word>
uint64_t AddTo(uint8_t* word, uint64_t add) {
  std::atomic_ref reached(*reinterpret_cast<Word*>(word));
  return add == 0 ? reached.load(std::memory_order_acquire)
                  : reached.fetch_add(static_cast<Word>(add), std::memory_order_acq_rel);
}

}  // namespace

void SharedWords::End() {
  Withdraw();
  std::lock_guard lock(mutex_);
  memory_ = nullptr;
}

uint64_t SharedWords::Add(uint64_t offset, uint32_t word_bytes, uint64_t add) {
  std::lock_guard lock(mutex_);
  const bool is_whole = word_bytes == sizeof(uint64_t);
  if (memory_ == nullptr) return is_whole ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  return is_whole ? AddTo<uint64_t>(memory_ + offset, add) : AddTo<uint32_t>(memory_ + offset, add);
}

void SharedWords::Store(uint64_t offset, uint64_t value) {
  std::lock_guard lock(mutex_);
  if (memory_ == nullptr) return;
  RaiseCounter(reinterpret_cast<uint64_t*>(memory_ + offset), value);
}

}  // namespace tutti::device::gpu
