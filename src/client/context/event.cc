#include "client/context/event.h"

#include "client/context/context.h"
#include "client/context/resting.h"
#include "client/session/attachment.h"
#include "wire/limits.h"

namespace tutti::client {
namespace {

// Slots for times. The slot of a destroyed event is reused only after the record that writes it has been reached.
class TimeSlots {
 public:
  static TimeSlots& Get() {
    static auto* const instance = new TimeSlots;
    return *instance;
  }
  // 0: none left.
  uint32_t Take() {
    std::lock_guard lock(mutex_);
    if (const auto rested = resting_.Take(used_ == wire::kMaxEvents)) return rested->slot;
    return used_ < wire::kMaxEvents ? used_++ : 0;
  }
  void GiveBack(uint32_t slot, const StreamMark& last) {
    std::lock_guard lock(mutex_);
    resting_.GiveBack({slot, last});
  }

 private:
  struct Slot {
    uint32_t slot;
    StreamMark last;
    bool Reached() const { return last.Reached(); }
  };
  std::mutex mutex_;
  Resting<Slot> resting_;
  uint32_t used_ = 1;
};

}  // namespace

constinit Pool<Event, 1 << 20> Event::pool_;

uint64_t Event::IdOf(const Context& context) { return context.id(); }

const Device& Event::DeviceOf(const Context& context) { return context.device(); }

int Event::CheckDevice() const { return device_.Check(); }

Answer<Event*> Event::Create(Context& context, unsigned flags, std::unique_ptr<SharedRecordings> shared) {
  uint32_t slot = 0;
  if ((flags & cuda::CU_EVENT_DISABLE_TIMING) == 0) {
    slot = TimeSlots::Get().Take();
    if (slot == 0) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  }
  Event* event = pool_.Create(context.owner(), slot, std::move(shared));
  if (event == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  return event;
}

Answer<wire::ExportedMemory> Event::Name() const {
  if (shared_ == nullptr) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  return shared_->Name();
}

int Event::Destroy(Event* event) {
  if (!pool_.Retire(event)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  if (event->time_slot_ != 0) TimeSlots::Get().GiveBack(event->time_slot_, event->mark());
  pool_.Delete(event);
  return cuda::CUDA_SUCCESS;
}

bool Event::BelongsTo(Context& context) const { return &context.owner() == &context_ && context_.id() == context_id_; }

// A full stream blocks the thread that records in it (client/context/backlog.h) and nobody else, such as a thread that
// only queries the event; so the lock is not held yet. Of two threads that record it in one stream, the one with the
// earlier position may therefore get here last.
int Event::Record(Stream& stream) {
  StreamMark mark;
  uint64_t number = 0;
  if (shared_ != nullptr) {
    CU_ASSIGN(number, shared_->Record(stream));
  }
  if (time_slot_ == 0) {
    mark = stream.Point();
  } else {
    const uint64_t ticket = stream.Submit(wire::RecordKind::kEventRecord, wire::EventRecordBody{.event = time_slot_});
    mark = stream.LastMark();
    mark.next = ticket + 1;
  }
  std::lock_guard lock(mutex_);
  captured_ = {};
  const bool overtaken = mark_.slot == mark.slot && mark_.generation == mark.generation && mark_.next > mark.next;
  if (overtaken) return cuda::CUDA_SUCCESS;
  mark_ = mark;
  number_ = number;
  return cuda::CUDA_SUCCESS;
}

bool Event::RecordedElsewhere() const {
  if (shared_ == nullptr) return false;
  std::lock_guard lock(mutex_);
  return !shared_->IsLast(number_);
}

int Event::Query() const {
  if (RecordedElsewhere()) return shared_->Query();
  return mark().Reached() ? cuda::CUDA_SUCCESS : cuda::CUDA_ERROR_NOT_READY;
}

int Event::Synchronize() const { return RecordedElsewhere() ? shared_->Synchronize() : mark().Wait(); }

int Event::MakeWait(Stream& stream) const {
  if (RecordedElsewhere()) return shared_->MakeWait(stream);
  stream.WaitFor(mark());
  return cuda::CUDA_SUCCESS;
}

int Event::Elapsed(const Event& start, const Event& end, float* milliseconds) {
  const StreamMark from = start.mark(), to = end.mark();
  if (!start.timed() || !end.timed() || from.slot == 0 || to.slot == 0) return cuda::CUDA_ERROR_INVALID_HANDLE;
  if (!from.Reached() || !to.Reached()) return cuda::CUDA_ERROR_NOT_READY;
  const auto& times = Attachment::Get().connection().completions().event_ns;
  const auto begin_ns = static_cast<int64_t>(times[start.time_slot_].load(std::memory_order_relaxed));
  const auto end_ns = static_cast<int64_t>(times[end.time_slot_].load(std::memory_order_relaxed));
  *milliseconds = static_cast<float>(static_cast<double>(end_ns - begin_ns) * 1e-6);
  return cuda::CUDA_SUCCESS;
}

}  // namespace tutti::client
