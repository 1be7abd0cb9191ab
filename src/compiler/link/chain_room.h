// Whether values can share one place in memory.
//
// The values of a chain take turns there: each is written when it comes to be, and read where it is used. That is right
// if, on each way through the function, what was written last is what a reader expects. It is asked as a compiler
// asks for the reaching definition: what the place holds at the end of each block, or that this depends on the way.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace tutti::compiler {

// The blocks of a function that can be reached, in reverse post order, by number.
class BlockOrder {
 public:
  explicit BlockOrder(llvm::Function& function);

  unsigned size() const { return blocks_.size(); }
  unsigned NumberOf(const llvm::BasicBlock* block) const { return numbers_.lookup(block); }
  llvm::ArrayRef<unsigned> Before(unsigned block) const { return before_[block]; }
  llvm::ArrayRef<unsigned> Behind(unsigned block) const { return behind_[block]; }
  // Calls of the device's services: others may run there.
  llvm::ArrayRef<llvm::Instruction*> service_calls() const { return service_calls_; }

 private:
  std::vector<llvm::BasicBlock*> blocks_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers_;
  std::vector<llvm::SmallVector<unsigned, 2>> before_, behind_;
  std::vector<llvm::Instruction*> service_calls_;
};

// What happens to the place, in this order where several happen at one instruction.
struct RoomEvent {
  enum Kind : uint8_t {
    kMeet,  // a phi takes over what its predecessors have left there
    kUse,  // an instruction uses `value`
    kSet,  // a value from outside of the chain is written, for the call behind it
    kTake,  // a call adds to `value`
    kGive,  // and leaves `value`
    kCarry,  // at a block's end: the phi of a successor takes `value`
    kBring,  // at a block's end: a value from outside is written for the phi of a successor
  };
  Kind kind;
  llvm::Instruction* at;
  llvm::Value* value;

  bool is_read() const { return kind == kUse || kind == kTake || kind == kCarry; }
};

class ChainRoom {
 public:
  void Add(RoomEvent::Kind kind, llvm::Instruction* at, llvm::Value* value) { events_.push_back({kind, at, value}); }

  // Asked when all events are there, all of them in blocks of `order`.
  bool IsRight(const BlockOrder& order);
  // Only of a room that is right: whether some value is in it while a service is called.
  bool IsHeldAcrossServices(const BlockOrder& order) const;
  llvm::ArrayRef<RoomEvent> events() const { return events_; }

 private:
  struct Range {
    unsigned begin = 0, end = 0;
  };
  bool EndsAgree(Range range) const;

  std::vector<RoomEvent> events_;
  std::vector<Range> ranges_;  // of events, for each block
};

}  // namespace tutti::compiler
