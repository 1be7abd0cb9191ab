// What the driver records behind what it has been given: marks, which say what is done, and when it was.
#include "base/clock.h"
#include "executor/submitter.h"

namespace tutti::executor {

Result<cuda::CUevent> Submitter::TakeEvent() {
  cuda::CUevent event = nullptr;
  if (!events_.empty()) {
    event = events_.back();
    events_.pop_back();
    return event;
  }
  TUTTI_TRY(vendor_.Check(vendor_.cuEventCreate(&event, cuda::CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  return event;
}

Status Submitter::MarkBurst() {
  for (const uint32_t number : busy_) TUTTI_TRY(PutMark(streams_[number]));
  return {};
}

// Behind what it has been given.
Status Submitter::PutMark(Stream& stream) {
  if (stream.marked == stream.issued) return {};
  TUTTI_ASSIGN(const cuda::CUevent event, TakeEvent());
  TUTTI_TRY(vendor_.Check(vendor_.cuEventRecord(event, stream.handle), "cuEventRecord"));
  stream.marks.push_back({.sequence = stream.issued, .event = event});
  stream.marked = stream.issued;
  return {};
}

// An event that says when it was reached is a mark as well: where it ends a burst, a time costs no call more.
Status Submitter::PutTime(Stream& stream) {
  TUTTI_ASSIGN(const cuda::CUevent event, clock_.Take());
  const uint64_t now_ns = NowNs();
  TUTTI_TRY(vendor_.Check(vendor_.cuEventRecord(event, stream.handle), "cuEventRecord"));
  stream.marks.push_back({.sequence = stream.issued, .event = event, .recorded_ns = now_ns});
  stream.marked = stream.issued;
  return {};
}

Status Submitter::TellTime(uint32_t stream, const Mark& mark) {
  TUTTI_ASSIGN(const uint64_t reached_ns, clock_.Read(mark.event, mark.recorded_ns, NowNs()));
  exchange_->times[stream][mark.sequence % kMostAhead].store(reached_ns, std::memory_order_relaxed);
  return {};
}

// Where others may take the device before the next record begins, what has begun is told from what has ended.
Status Submitter::MarkWhatMayEnd(Stream& stream) {
  if (stream.marked == stream.issued || stream.given.empty()) return {};
  if (fence_ == nullptr || !fence_->is_open() || context_ == nullptr || context_->IsAlone(exchange_)) return {};
  return PutMark(stream);
}

}  // namespace tutti::executor
