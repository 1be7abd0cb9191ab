#include "compiler/widen/analysis/schedule.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Loop;

// Topological order of one level of the loop forest. A loop below it is one node, expanded in place.
class Layout {
 public:
  Layout(llvm::Function& function, const llvm::LoopInfo& loops, std::vector<BasicBlock*>& order)
      : loops_(loops), order_(order), before_meeting_(BlocksBeforeMeetings(function)) {
    for (const Loop* loop : loops.getLoopsInPreorder()) {
      if (llvm::any_of(loop->blocks(), [](const BasicBlock* block) { return WaitsForLanes(*block); }))
        meeting_.insert(loop);
    }
    for (BasicBlock& block : function) Adopt(block);
  }

  void Place(const Loop* level, BasicBlock* first) {
    std::vector<BasicBlock*> reversed;
    llvm::DenseSet<BasicBlock*> seen;
    Visit(level, first, seen, reversed);
    for (BasicBlock* block : llvm::reverse(reversed)) {
      if (const Loop* inner = ChildLoop(level, block)) {
        Place(inner, inner->getHeader());
        last_[inner] = order_.back();
      } else {
        order_.push_back(block);
      }
    }
  }

  // The last block of the loop's contiguous range: its latch, or an end that the loop has adopted.
  BasicBlock* Last(const Loop* loop) const { return last_.lookup(loop); }

 private:
  // Gives ends that only `block` leads to, to the innermost loop with a meeting around it.
  void Adopt(BasicBlock& block) {
    const Loop* loop = loops_.getLoopFor(&block);
    while (loop != nullptr && !meeting_.contains(loop)) loop = loop->getParentLoop();
    if (loop == nullptr) return;
    for (BasicBlock* to : llvm::successors(&block)) {
      if (before_meeting_.contains(to) || IsReturn(*to)) continue;
      const auto part = PartFrom(to);
      if (!HasOneEntry(part)) continue;
      for (BasicBlock* end : part) {
        adopters_[end] = loop;
        ends_[loop].push_back(end);
      }
    }
  }

  static bool IsReturn(const BasicBlock& block) { return llvm::isa<llvm::ReturnInst>(block.getTerminator()); }

  // LoopInfo's answer, adopted blocks included.
  const Loop* LoopOf(const BasicBlock* block) const {
    const Loop* loop = loops_.getLoopFor(block);
    return loop != nullptr ? loop : adopters_.lookup(block);
  }
  const Loop* ParentOf(const Loop* loop) const {
    const Loop* parent = loop->getParentLoop();
    return parent != nullptr ? parent : adopters_.lookup(loop->getHeader());
  }
  bool Contains(const Loop* level, const BasicBlock* block) const {
    const Loop* loop = LoopOf(block);
    while (loop != nullptr && loop != level) loop = ParentOf(loop);
    return loop == level;
  }

  // The loop directly below `level` that holds `block`, or null.
  const Loop* ChildLoop(const Loop* level, const BasicBlock* block) const {
    const Loop* loop = LoopOf(block);
    if (loop == level) return nullptr;
    while (ParentOf(loop) != level) loop = ParentOf(loop);
    return loop;
  }

  // A block, or the header of the loop that stands for it at this level.
  BasicBlock* Node(const Loop* level, BasicBlock* block) const {
    const Loop* inner = ChildLoop(level, block);
    return inner != nullptr ? inner->getHeader() : block;
  }

  // Depth-first, without recursion: functions of thousands of blocks occur.
  void Visit(const Loop* level, BasicBlock* first, llvm::DenseSet<BasicBlock*>& seen,
             std::vector<BasicBlock*>& reversed) const {
    struct Frame {
      BasicBlock* node;
      std::vector<BasicBlock*> successors;
    };
    std::vector<Frame> stack;
    const auto push = [&](BasicBlock* node) {
      seen.insert(node);
      stack.push_back({node, Successors(level, node)});
      // Visited first means last in the order. So lanes that end without a meeting come before the meeting that waits
      // for them.
      auto& successors = stack.back().successors;
      std::ranges::stable_partition(successors, [&](BasicBlock* to) { return !before_meeting_.contains(to); });
    };
    push(first);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.successors.empty()) {
        reversed.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      BasicBlock* next = frame.successors.back();
      frame.successors.pop_back();
      if (!seen.contains(next)) push(next);
    }
  }

  std::vector<BasicBlock*> Successors(const Loop* level, BasicBlock* node) const {
    std::vector<BasicBlock*> result;
    const auto add = [&](BasicBlock* to) {
      if (level != nullptr && (!Contains(level, to) || to == level->getHeader())) return;
      result.push_back(Node(level, to));
    };
    if (const Loop* inner = ChildLoop(level, node)) {
      llvm::SmallVector<BasicBlock*, 8> exits;
      inner->getExitBlocks(exits);
      for (BasicBlock* end : ends_.lookup(inner)) llvm::append_range(exits, llvm::successors(end));
      for (BasicBlock* exit : exits) {
        if (!Contains(inner, exit)) add(exit);
      }
    } else {
      for (BasicBlock* to : llvm::successors(node)) add(to);
    }
    return result;
  }

  const llvm::LoopInfo& loops_;
  std::vector<BasicBlock*>& order_;
  llvm::DenseSet<const BasicBlock*> before_meeting_;
  llvm::DenseSet<const Loop*> meeting_;
  llvm::DenseMap<const BasicBlock*, const Loop*> adopters_;
  llvm::DenseMap<const Loop*, std::vector<BasicBlock*>> ends_;  // that a loop has adopted
  llvm::DenseMap<const Loop*, BasicBlock*> last_;
};

}  // namespace

llvm::DenseSet<const BasicBlock*> BlocksBeforeMeetings(llvm::Function& function) {
  llvm::DenseSet<const BasicBlock*> before;
  std::vector<BasicBlock*> work;
  const auto reach = [&](BasicBlock* block) {
    if (before.insert(block).second) work.push_back(block);
  };
  for (BasicBlock& block : function) {
    if (WaitsForLanes(block)) reach(&block);
  }
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    for (BasicBlock* from : llvm::predecessors(block)) reach(from);
  }
  return before;
}

llvm::SetVector<BasicBlock*> PartFrom(BasicBlock* first) {
  llvm::SetVector<BasicBlock*> part;
  part.insert(first);
  for (size_t i = 0; i < part.size(); ++i) {
    for (BasicBlock* to : llvm::successors(part[i])) {
      if (!llvm::isa<llvm::ReturnInst>(to->getTerminator())) part.insert(to);
    }
  }
  return part;
}

bool HasOneEntry(const llvm::SetVector<BasicBlock*>& part) {
  unsigned entries = 0;
  for (BasicBlock* block : part) {
    entries += static_cast<unsigned>(
        llvm::count_if(llvm::predecessors(block), [&](BasicBlock* from) { return !part.contains(from); }));
  }
  return entries == 1;
}

Schedule::Schedule(llvm::Function& function, const llvm::LoopInfo& loops) {
  Layout layout(function, loops, order_);
  layout.Place(nullptr, &function.getEntryBlock());
  // Next to an endless loop the order does not determine where the return is.
  std::stable_partition(order_.begin(), order_.end(),
                        [](BasicBlock* block) { return !llvm::isa<llvm::ReturnInst>(block->getTerminator()); });
  for (unsigned i = 0; i < size(); ++i) index_[order_[i]] = i;
  for (const Loop* loop : loops.getLoopsInPreorder()) last_[index(loop->getHeader())] = index(layout.Last(loop));
  FindCopy();
}

void Schedule::FindCopy() {
  copy_ = gates_ = changes_ = llvm::BitVector(size());
  llvm::SetVector<BasicBlock*> first;
  for (BasicBlock* block : order_) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    const auto* asked =
        branch != nullptr && branch->isConditional() ? llvm::dyn_cast<llvm::CallInst>(branch->getCondition()) : nullptr;
    if (asked != nullptr && ClassifyCall(*asked).kind == Intrinsic::kIsApart) {
      gates_.set(index(block));
      first.insert(branch->getSuccessor(0));
    }
    const bool changes = llvm::any_of(*block, [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      return call != nullptr && ClassifyCall(*call).kind == Intrinsic::kSetApart;
    });
    if (changes) changes_.set(index(block));
  }
  // These lead to the copy, or to a gate that does.
  for (unsigned i : changes_.set_bits()) {
    for (BasicBlock* to : llvm::successors(order_[i])) {
      if (!gates_.test(index(to))) first.insert(to);
    }
  }
  for (size_t i = 0; i < first.size(); ++i) {
    if (llvm::isa<llvm::ReturnInst>(first[i]->getTerminator())) continue;
    copy_.set(index(first[i]));
    for (BasicBlock* to : llvm::successors(first[i])) first.insert(to);
  }
  is_twice_ = changes_.any();
}

// The copy is empty before the change; after it, lanes of the original are at gates only.
bool Schedule::MayRun(unsigned i, bool after_change) const {
  if (!is_twice_ || llvm::isa<llvm::ReturnInst>(order_[i]->getTerminator())) return true;
  return after_change ? copy_.test(i) || gates_.test(i) : !copy_.test(i);
}

bool Schedule::GatesAreComplete() const {
  return llvm::all_of(changes_.set_bits(), [&](unsigned i) {
    return llvm::all_of(waiting_[i].set_bits(), [&](unsigned other) { return MayRun(other, true); });
  });
}

// Positions are doubled so that there are some between blocks: a header that was reached from `from` before its turn
// comes behind its loop's last block.
unsigned Schedule::RankFrom(unsigned from, unsigned i) const { return i <= from ? 2 * last_.lookup(i) + 2 : 2 * i + 1; }

llvm::SmallVector<unsigned, 2> Targets(const Schedule& schedule, const BasicBlock& block) {
  llvm::SmallVector<unsigned, 2> targets;
  for (const BasicBlock* to : llvm::successors(&block)) {
    const unsigned i = schedule.index(to);
    if (!llvm::is_contained(targets, i)) targets.push_back(i);
  }
  return targets;
}

llvm::SmallVector<unsigned, 8> Schedule::Candidates(unsigned from, llvm::ArrayRef<unsigned> targets) const {
  llvm::SmallVector<unsigned, 8> candidates(targets);
  const bool after_change = copy_.test(from) || llvm::any_of(targets, [&](unsigned i) { return copy_.test(i); });
  for (unsigned i : waiting_[from].set_bits()) {
    if (!llvm::is_contained(targets, i) && MayRun(i, after_change)) candidates.push_back(i);
  }
  std::ranges::sort(candidates, {}, [&](unsigned i) { return RankFrom(from, i); });
  return candidates;
}

llvm::SmallVector<unsigned, 4> Schedule::Next(unsigned from, llvm::ArrayRef<unsigned> targets) const {
  llvm::SmallVector<unsigned, 4> next;
  size_t missing = targets.size();
  for (unsigned i : Candidates(from, targets)) {
    next.push_back(i);
    if (llvm::is_contained(targets, i) && --missing == 0) break;
  }
  return next;
}

void Schedule::Simulate(const llvm::BitVector& divergent) {
  const unsigned n = size();
  std::vector<llvm::BitVector> predecessors;
  FindWaiting(divergent, predecessors);
  if (is_twice_ && !GatesAreComplete()) {
    is_twice_ = false;  // from now on anything may be pending beside anything
    FindWaiting(divergent, predecessors);
  }
  joins_ = llvm::BitVector(n);
  for (unsigned from = 0; from < n; ++from) {
    for (unsigned target : Targets(*this, *order_[from])) {
      if (waiting_[from].test(target)) joins_.set(target);
    }
  }
  ComputeDominators(predecessors);
}

void Schedule::FindWaiting(const llvm::BitVector& divergent, std::vector<llvm::BitVector>& predecessors) {
  const unsigned n = size();
  waiting_.assign(n, llvm::BitVector(n));
  predecessors.assign(n, llvm::BitVector(n));
  std::vector<llvm::SmallVector<unsigned, 2>> targets(n);
  for (unsigned i = 0; i < n; ++i) targets[i] = Targets(*this, *order_[i]);

  llvm::BitVector work(n, true);
  const auto transfer = [&](unsigned from, llvm::ArrayRef<unsigned> to) {
    size_t missing = to.size();
    const auto candidates = Candidates(from, to);
    for (size_t k = 0; k < candidates.size(); ++k) {
      const unsigned next = candidates[k];
      predecessors[next].set(from);
      for (size_t later = k + 1; later < candidates.size(); ++later) {
        if (waiting_[next].test(candidates[later])) continue;
        waiting_[next].set(candidates[later]);
        work.set(next);
      }
      if (llvm::is_contained(to, next) && --missing == 0) break;
    }
  };
  for (int i = work.find_first(); i >= 0; i = work.find_first()) {
    const unsigned from = static_cast<unsigned>(i);
    work.reset(from);
    if (divergent.test(from)) {
      transfer(from, targets[from]);
    } else {
      for (unsigned target : targets[from]) transfer(from, target);
    }
  }
}

// Cooper, Harvey and Kennedy's iteration; the layout is close to a reverse post-order of the new graph.
void Schedule::ComputeDominators(const std::vector<llvm::BitVector>& predecessors) {
  constexpr unsigned kNone = ~0u;
  dominator_.assign(size(), kNone);
  dominator_[0] = 0;
  const auto meet = [&](unsigned a, unsigned b) {
    while (a != b) {
      while (a > b) a = dominator_[a];
      while (b > a) b = dominator_[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 1; i < size(); ++i) {
      unsigned found = kNone;
      for (unsigned from : predecessors[i].set_bits()) {
        if (dominator_[from] == kNone) continue;
        found = found == kNone ? from : meet(found, from);
      }
      if (found == dominator_[i]) continue;
      dominator_[i] = found;
      changed = true;
    }
  }
}

bool Schedule::Dominates(unsigned a, unsigned b) const {
  while (b > a) b = dominator_[b];
  return a == b;
}

}  // namespace tutti::compiler
