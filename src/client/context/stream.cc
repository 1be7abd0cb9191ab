#include "client/context/stream.h"

#include "client/context/context.h"

namespace tutti::client {
namespace {

std::atomic<uint64_t> next_stream_id{1};

}  // namespace

constinit Pool<Stream, wire::kMaxStreams> Stream::pool_;

Stream::Stream(Context& context, const StreamOptions& options, uint32_t slot, uint32_t generation)
    : context_(context),
      options_(options),
      slot_(slot),
      generation_(generation),
      id_(next_stream_id.fetch_add(1, std::memory_order_relaxed)) {}

Stream* Stream::Create(Context& context, const StreamOptions& options) {
  const auto place = StreamSlots::Get().Take();
  if (place.slot == 0) return nullptr;
  Stream* stream = pool_.Create(context, options, place.slot, place.generation);
  if (stream == nullptr) {
    StreamSlots::Get().GiveBack({place.slot, place.generation, 0});
    return nullptr;
  }
  const wire::StreamCreateBody body{
      .device = context.device().index(),
      .priority = options.priority,
      .context = static_cast<uint32_t>(context.id()),
      .flags = (options.legacy ? wire::kStreamLegacy : 0u) | (options.non_blocking ? wire::kStreamNonBlocking : 0u),
  };
  Attachment::Get().ring().Submit(wire::RecordKind::kStreamCreate, place.slot, body);
  context.Add(stream);
  return stream;
}

void Stream::Destroy(Stream* stream) {
  if (!pool_.Retire(stream)) return;
  if (stream->capture() != nullptr) stream->forget_.load(std::memory_order_relaxed)(*stream);
  stream->context_.Remove(stream);
  Attachment::Get().ring().Submit(wire::RecordKind::kStreamDestroy, stream->slot_);
  StreamSlots::Get().GiveBack(stream->LastMark());
  pool_.Delete(stream);
}

// Adds the weight noted since the last check, and this record's, to the backlog at once.
[[gnu::cold]] void Stream::NoteAndLook(uint64_t ticket, uint32_t weight) {
  uint64_t seen = end_.load(std::memory_order_relaxed), next;
  do {
    next = std::max(seen >> kWeightBits, ticket + 1);
  } while (!end_.compare_exchange_weak(seen, next << kWeightBits, std::memory_order_acq_rel));
  backlog_.Add(slot_, next - 1, static_cast<uint32_t>(seen & kWeightMask) + weight, !options_.never_blocks);
}

void Stream::WaitFor(const StreamMark& mark) {
  if (mark.Reached() || mark.slot == slot_) return;
  Submit(wire::RecordKind::kWait, wire::WaitBody{.stream = mark.slot, .ticket = mark.ticket()});
}

// Whether a new record would come after nothing of other streams.
bool Stream::WaitsForNoOther() {
  if (options_.legacy) return context_.BlockingStreamsIdle();
  return options_.non_blocking || context_.legacy()->Idle();
}

StreamMark Stream::FullMark() {
  if (!WaitsForNoOther()) SubmitMarker();
  return LastMark();
}

StreamMark Stream::Point() {
  if (!context_.device().Has(wire::kDeviceNeedsPoints)) return FullMark();
  if (Settled()) return LastMark();
  const uint64_t ticket = Submit(wire::RecordKind::kEventRecord, wire::EventRecordBody{.event = 0});
  return {slot_, generation_, ticket + 1};
}

bool Stream::Settled() { return Idle() && WaitsForNoOther(); }

int Stream::Settle() {
  CU_TRY(LastMark().Wait());
  if (options_.legacy) return context_.WaitForBlockingStreams();
  return options_.non_blocking ? 0 : context_.legacy()->LastMark().Wait();
}

}  // namespace tutti::client
