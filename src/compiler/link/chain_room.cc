#include "compiler/link/chain_room.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>

#include <algorithm>

namespace tutti::compiler {

BlockOrder::BlockOrder(llvm::Function& function) {
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function)) {
    numbers_[block] = blocks_.size();
    blocks_.push_back(block);
    for (llvm::Instruction& instruction : *block) {
      if (instruction.getMetadata("tutti.service") != nullptr) service_calls_.push_back(&instruction);
    }
  }
  before_.resize(size());
  behind_.resize(size());
  for (unsigned number = 0; number < size(); ++number) {
    for (const llvm::BasicBlock* next : llvm::successors(blocks_[number])) {
      behind_[number].push_back(numbers_[next]);
      before_[numbers_[next]].push_back(number);
    }
  }
}

// What the phis of successors get is written in no order: one value at most, and none where one is taken that is there.
bool ChainRoom::EndsAgree(Range range) const {
  const llvm::Value* brought = nullptr;
  bool carries = false;
  for (const RoomEvent& event : llvm::ArrayRef(events_).slice(range.begin, range.end - range.begin)) {
    if (event.kind == RoomEvent::kCarry) carries = true;
    if (event.kind != RoomEvent::kBring) continue;
    if (brought != nullptr && brought != event.value) return false;
    brought = event.value;
  }
  return brought == nullptr || !carries;
}

bool ChainRoom::IsRight(const BlockOrder& order) {
  const auto block_of = [&order](const RoomEvent& event) { return order.NumberOf(event.at->getParent()); };
  std::ranges::stable_sort(events_, [&](const RoomEvent& a, const RoomEvent& b) {
    if (const unsigned block = block_of(a); block != block_of(b)) return block < block_of(b);
    if (a.at != b.at) return a.at->comesBefore(b.at);
    return a.kind < b.kind;
  });
  // One value for several phis is written once.
  const auto is_same = [](const RoomEvent& a, const RoomEvent& b) {
    return a.kind == RoomEvent::kBring && b.kind == a.kind && a.at == b.at && a.value == b.value;
  };
  events_.erase(std::ranges::unique(events_, is_same).begin(), events_.end());
  ranges_.assign(order.size(), {});
  for (unsigned i = 0; i < events_.size(); ++i) {
    Range& range = ranges_[block_of(events_[i])];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
    if (i == range.begin) continue;
    const RoomEvent &event = events_[i], &before = events_[i - 1];
    // Two sums of a call are two values at once.
    if (event.at == before.at && event.kind == before.kind &&
        (event.kind == RoomEvent::kTake || event.kind == RoomEvent::kSet || event.kind == RoomEvent::kGive))
      return false;
  }
  if (!llvm::all_of(ranges_, [this](Range range) { return EndsAgree(range); })) return false;

  // What the place holds at each block's end: nothing is known yet, one value, or it depends.
  struct State {
    bool is_known = false;
    const llvm::Value* value = nullptr;  // null: it depends
    bool operator==(const State&) const = default;
  };
  std::vector<State> at_end(order.size());
  const auto at_begin = [&](unsigned block) {
    State state{block == 0, nullptr};
    for (const unsigned before : order.Before(block)) {
      if (!at_end[before].is_known) continue;
      if (!state.is_known) {
        state = at_end[before];
      } else if (state != at_end[before]) {
        state.value = nullptr;
      }
    }
    return state;
  };
  bool is_right = true;
  const auto at_end_of = [&](unsigned block) {
    State state = at_begin(block);
    for (unsigned i = ranges_[block].begin; i < ranges_[block].end; ++i) {
      if (events_[i].is_read())
        is_right = is_right && state.value == events_[i].value;
      else
        state = {true, events_[i].value};
    }
    return state;
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (unsigned block = 0; block < order.size(); ++block) {
      const State state = at_end_of(block);
      has_changed = has_changed || state != at_end[block];
      at_end[block] = state;
    }
  }
  is_right = true;
  for (unsigned block = 0; block < order.size() && is_right; ++block) at_end_of(block);
  return is_right;
}

bool ChainRoom::IsHeldAcrossServices(const BlockOrder& order) const {
  std::vector<bool> at_end(order.size());
  // From event `i` of the block on.
  const auto is_held = [&](unsigned block, unsigned i) {
    return i < ranges_[block].end ? events_[i].is_read() : at_end[block];
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (unsigned block = order.size(); block-- > 0;) {
      const bool is_held_at_end =
          llvm::any_of(order.Behind(block), [&](unsigned next) { return is_held(next, ranges_[next].begin); });
      has_changed = has_changed || is_held_at_end != at_end[block];
      at_end[block] = is_held_at_end;
    }
  }
  return llvm::any_of(order.service_calls(), [&](llvm::Instruction* call) {
    const unsigned block = order.NumberOf(call->getParent());
    unsigned i = ranges_[block].begin;
    while (i < ranges_[block].end && events_[i].at->comesBefore(call)) ++i;
    return is_held(block, i);
  });
}

}  // namespace tutti::compiler
