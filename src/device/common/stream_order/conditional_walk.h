// A stream's way through the conditional nodes of graphs.
//
// A conditional node is a sequence of records: kConditional, its bodies, each behind a kBody, and kConditionalEnd
// (wire/ring_layout.h). The stream keeps all of them until the outermost node is over, and walks: it steps over bodies
// that do not run, and from the end of a loop back to its begin. So an iteration costs what its tasks cost; neither
// the client nor the ring takes part, and what comes behind may still be on its way from the client.
//
// A loop whose value stays as it is never ends, and may have thousands of records that do nothing. So the stream rests
// after kMostSteps without a task: it runs one that does nothing. What such a loop holds is an SM, by turns with other
// clients' tasks, not the Space's lock and not the thread that walks; and it ends when its Space fails or goes. Guarded
// by the Space's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "device/common/stream_order/operation.h"
#include "wire/ring_layout.h"

namespace tutti::device {

class ConditionalWalk {
 public:
  static constexpr uint32_t kNoBody = ~0u;
  static constexpr uint32_t kMostSteps = 64;

  // The body that runs for a value.
  static uint32_t BodyFor(wire::ConditionalKind kind, uint32_t value) {
    switch (kind) {
      case wire::ConditionalKind::kIf: return value != 0 ? 0 : 1;
      case wire::ConditionalKind::kWhile: return value != 0 ? 0 : kNoBody;
      case wire::ConditionalKind::kSwitch: return value;
    }
    return kNoBody;
  }

  // Outside of all conditional nodes.
  bool outside() const { return frames_.empty(); }

  // Whether the stream steps over the operation.
  bool StepsOver(const Operation& operation) const {
    if (frames_.empty() || frames_.back().inside) return false;
    const bool own = operation.kind == Operation::Kind::kBody || operation.kind == Operation::Kind::kConditionalEnd;
    return !own || skipped_ != 0;
  }

  // Before the stream begins `next`: the node whose task it runs first, for a rest; null if none is due.
  Operation* Rest(Operation* next) const {
    if (steps_ < kMostSteps) return nullptr;
    return frames_.empty() ? next : frames_.back().begin;  // without a frame, a loop's next round
  }
  // A task has run.
  void NoteTask() { steps_ = 0; }

  // The operation is over, or was stepped over: the one that is next. `failed`: loops end.
  Operation* Pass(Operation* operation, bool failed) {
    const bool over = StepsOver(*operation);
    switch (operation->kind) {
      case Operation::Kind::kConditional:
        if (over) {
          ++skipped_;
        } else {
          frames_.push_back({.begin = operation, .body = operation->number});
        }
        break;
      case Operation::Kind::kBody:
        if (!over) PassBody(operation->number);
        break;
      case Operation::Kind::kConditionalEnd:
        if (over) {
          --skipped_;
          break;
        }
        return PassEnd(operation, failed);
      default: break;
    }
    if (!frames_.empty()) ++steps_;
    return operation->next;
  }

 private:
  struct Frame {
    Operation* begin;
    uint32_t body;  // to run, kNoBody once it has
    bool inside = false;  // of the body that runs
    bool ran_body = false;
  };

  void PassBody(uint32_t number) {
    Frame& frame = frames_.back();
    if (frame.inside) frame.body = kNoBody;
    frame.inside = !frame.inside && number == frame.body && number != kNoBody;
    frame.ran_body |= frame.inside;
  }

  Operation* PassEnd(Operation* end, bool failed) {
    const Frame frame = frames_.back();
    frames_.pop_back();
    const bool repeats =
        frame.begin->conditional == wire::ConditionalKind::kWhile && frame.ran_body && !end->no_more && !failed;
    steps_ = frames_.empty() && !repeats ? 0 : steps_ + 1;
    return repeats ? frame.begin : end->next;
  }

  std::vector<Frame> frames_;  // from the outermost node to the innermost
  uint32_t skipped_ = 0;  // nodes within each other, in a body that does not run
  uint32_t steps_ = 0;  // since a task has run
};

}  // namespace tutti::device
