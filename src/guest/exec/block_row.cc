#include "guest/exec/block_row.h"

#include <algorithm>
#include <atomic>

#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

// The code reads and writes these on the same thread, so they are relaxed.
TUTTI_NO_SANITIZE uint32_t Load(uint32_t& field) { return __atomic_load_n(&field, __ATOMIC_RELAXED); }
TUTTI_NO_SANITIZE void Store(uint32_t& field, uint32_t value) { __atomic_store_n(&field, value, __ATOMIC_RELAXED); }

}  // namespace

TUTTI_NO_SANITIZE void BlockRow::Begin() {
  noted_ = block_->ctaid[0];
  Store(block_->ctaid_end, noted_ + 1);
}

TUTTI_NO_SANITIZE void BlockRow::GoOn(uint32_t more) { Store(block_->ctaid_end, noted_ + 1 + more); }

TUTTI_NO_SANITIZE uint32_t BlockRow::Reached() const {
  return std::min(Load(block_->ctaid[0]), Load(block_->ctaid_end) - 1);
}

TUTTI_NO_SANITIZE uint32_t BlockRow::NoteProgress() {
  const uint32_t reached = Reached(), ended = reached - noted_;
  noted_ = reached;
  Store(block_->ctaid[0], reached);
  return ended;
}

TUTTI_NO_SANITIZE void BlockRow::EndHere() { Store(block_->ctaid_end, Reached() + 1); }

}  // namespace tutti::guest
