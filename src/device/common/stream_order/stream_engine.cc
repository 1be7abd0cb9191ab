#include "device/common/stream_order/stream_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cuda/result.h"

namespace tutti::device {

StreamEngine::~StreamEngine() {
  for (auto& stream : streams_) {
    if (stream == nullptr) continue;
    while (stream->head != nullptr) pool_.Put(std::exchange(stream->head, stream->head->next));
  }
}

Stream* StreamEngine::Find(uint32_t number) const {
  if (number >= streams_.size()) return nullptr;
  Stream* const stream = streams_[number].get();
  return stream == nullptr || stream->destroyed ? nullptr : stream;
}

Status StreamEngine::Create(uint32_t number, const StreamOptions& options) {
  if (number == 0 || number >= wire::kMaxStreams) return Fail(fmt::format("stream number {} is out of range", number));
  if (number >= streams_.size()) streams_.resize(std::min<size_t>(wire::kMaxStreams, 2 * number + 8));
  if (streams_[number] != nullptr) return Fail(fmt::format("stream {} exists already", number));
  auto stream = std::make_unique<Stream>();
  stream->number = number;
  stream->device = options.device;
  stream->context = options.context;
  stream->legacy = options.legacy;
  stream->urgency = UrgencyOf(options.priority);
  if (!options.non_blocking) {
    auto& group = groups_[{options.device, options.context}];
    if (group == nullptr) group = std::make_unique<ContextGroup>();
    ++group->streams;
    stream->group = group.get();
  }
  streams_[number] = std::move(stream);
  return {};
}

Status StreamEngine::Destroy(uint32_t number) {
  Stream* const stream = Find(number);
  if (stream == nullptr) return Fail(fmt::format("there is no stream {} to destroy", number));
  stream->destroyed = true;
  if (stream->head == nullptr) Remove(stream);
  return {};
}

void StreamEngine::Remove(Stream* stream) {
  if (stream->group != nullptr && --stream->group->streams == 0) {
    std::erase_if(groups_, [&](const auto& entry) { return entry.second.get() == stream->group; });
  }
  streams_[stream->number].reset();
}

Status StreamEngine::Admit(Stream* stream, Operation::Kind kind) {
  using Kind = Operation::Kind;
  uint32_t& open = stream->open_conditionals;
  switch (kind) {
    case Kind::kTask:
    case Kind::kMark: return {};
    case Kind::kConditional:
      if (stream->group != nullptr)
        return Fail(fmt::format("a conditional node in stream {}, which blocks", stream->number));
      if (open == wire::kMostConditionalDepth) return Fail(fmt::format("conditional nodes deeper than {}", open));
      ++open;
      return {};
    case Kind::kBody:
      if (open == 0) return Fail("a body outside of a conditional node");
      return {};
    case Kind::kConditionalEnd:
      if (open == 0) return Fail("the end of a conditional node that has not begun");
      --open;
      return {};
    case Kind::kEvent:
    case Kind::kWait:
    case Kind::kHostCall:
    case Kind::kFree:
    case Kind::kStore:
    case Kind::kConditionSet:
      if (open != 0) return Fail("a conditional node with other work than launches, copies and fills");
      return {};
  }
  return {};
}

Result<Operation*> StreamEngine::NewOperation(Operation::Kind kind, uint64_t ticket, uint64_t argument_bytes) {
  Operation* const operation = pool_.Get(wire::BacklogWeight(argument_bytes));
  if (operation == nullptr) return Fail("the client's streams already hold as much unfinished work as they may");
  operation->kind = kind;
  operation->ticket = ticket;
  operation->issued = operation->joined = false;
  operation->next = nullptr;
  return operation;
}

void StreamEngine::Enqueue(Stream* stream, Operation* operation) {
  operation->stream = stream;
  operation->batch = stream->group != nullptr ? stream->group->Join(stream->legacy) : nullptr;
  operation->generation = deferred_.Join();
  (stream->tail != nullptr ? stream->tail->next : stream->head) = operation;
  stream->tail = operation;
  if (stream->at != nullptr) return;
  stream->at = operation;
  List(stream);
  Run();
}

void StreamEngine::TaskDone(Operation* operation, bool ran) {
  Stream* const stream = operation->stream;
  const bool issued = operation->issued;
  if (stream->issued != 0) Settle(stream, operation);
  if (!issued) {
    stream->state = Stream::State::kReady;
    if (ran) stream->walk.NoteTask();
    if (!std::exchange(stream->rests, false)) Pass(stream);
  }
  List(stream);
  Run();
}

// What is issued up to `last`, or before it, is done.
void StreamEngine::Settle(Stream* stream, Operation* last) {
  for (Operation* operation = stream->head; operation != stream->at; operation = operation->next) {
    stream->issued -= std::exchange(operation->issued, false) ? 1 : 0;
    if (operation == last) return;
  }
}

void StreamEngine::HostCallDone(uint32_t number, uint64_t token) {
  // Includes streams that are being destroyed; late answers to dropped calls are ignored.
  Stream* const stream = number < streams_.size() ? streams_[number].get() : nullptr;
  if (stream == nullptr || stream->state != Stream::State::kHostCall || stream->at->token != token) return;
  stream->state = Stream::State::kReady;
  Pass(stream);
  List(stream);
  Run();
}

void StreamEngine::Drain(uint32_t device) {
  for (auto& stream : streams_) {
    if (stream == nullptr || stream->device != device) continue;
    if (stream->state == Stream::State::kHostCall) {
      stream->state = Stream::State::kReady;
      Pass(stream.get());
    }
    if (stream->state == Stream::State::kWaiting) stream->state = Stream::State::kReady;
    List(stream.get());
  }
  Run();
}

void StreamEngine::List(Stream* stream) {
  if (stream->listed) return;
  stream->listed = true;
  stream->next_listed = nullptr;
  (listed_tail_ != nullptr ? listed_tail_->next_listed : listed_head_) = stream;
  listed_tail_ = stream;
}

void StreamEngine::Run() {
  while (Stream* const stream = listed_head_) {
    listed_head_ = stream->next_listed;
    if (listed_head_ == nullptr) listed_tail_ = nullptr;
    stream->listed = false;
    Look(stream);
  }
}

void StreamEngine::Look(Stream* stream) {
  if (stream->head != stream->at) CompleteWhatIsDone(stream);
  if (stream->state == Stream::State::kDraining && stream->head == stream->at) stream->state = Stream::State::kReady;
  while (stream->at != nullptr && stream->state == Stream::State::kReady) {
    if (Rests(stream) || !Begin(stream, stream->at)) break;
    Pass(stream);
  }
  if (stream->progressed) {
    stream->progressed = false;
    if (sink_ != nullptr && sink_->Completed(stream->number, stream->done_ticket)) wakes_.Add(stream->number, sink_);
  }
  if (stream->head == nullptr && stream->destroyed) Remove(stream);
}

// True if the stream runs a task before it goes on, having passed many records of conditional nodes without any.
bool StreamEngine::Rests(Stream* stream) {
  Operation* const rest = stream->walk.Rest(stream->at);
  if (rest == nullptr || owner_->DeviceError(stream->device) != 0) return false;
  stream->state = Stream::State::kRunning;
  stream->rests = owner_->Start(rest) != Owner::Begun::kOver;
  if (!stream->rests) stream->state = Stream::State::kReady;
  return stream->rests;
}

// True if the record is over, or issued; else the stream's state says what it waits for.
bool StreamEngine::Begin(Stream* stream, Operation* operation) {
  if (operation->batch != nullptr && !stream->group->IsFirst(operation->batch)) {
    operation->batch->held.push_back(stream);
    stream->state = Stream::State::kInBatch;
    return false;
  }
  if (stream->walk.StepsOver(*operation)) return true;
  switch (operation->kind) {
    case Operation::Kind::kTask: return BeginTask(stream, operation);
    case Operation::Kind::kWait: return BeginWait(stream, operation);
    case Operation::Kind::kEvent: return BeginEvent(stream, operation);
    case Operation::Kind::kStore:
      if (stream->issued != 0) owner_->NotePoint(*stream);
      return true;
    case Operation::Kind::kMark:
    case Operation::Kind::kFree:
    case Operation::Kind::kBody:
    case Operation::Kind::kConditionalEnd: return true;
    case Operation::Kind::kHostCall:
    case Operation::Kind::kConditionSet:
    case Operation::Kind::kConditional: break;
  }
  if (stream->head != stream->at && stream->walk.outside()) {
    stream->state = Stream::State::kDraining;
    return false;
  }
  const int32_t error = owner_->DeviceError(stream->device);
  if (operation->kind == Operation::Kind::kHostCall) {
    if (sink_ == nullptr) return true;
    sink_->HostCallReached(stream->number, operation->token, error);
    if (error != 0) return true;  // reported, but nothing waits for it
    stream->state = Stream::State::kHostCall;
    return false;
  }
  if (operation->kind == Operation::Kind::kConditionSet) {
    owner_->SetValueOf(stream->device, operation->condition, operation->number);
  } else {
    operation->number = error != 0 ? ConditionalWalk::kNoBody
                                   : ConditionalWalk::BodyFor(operation->conditional,
                                                              owner_->ValueOf(stream->device, operation->condition));
  }
  return true;
}

bool StreamEngine::BeginTask(Stream* stream, Operation* operation) {
  if (owner_->DeviceError(stream->device) != 0) return true;
  stream->state = Stream::State::kRunning;
  const Owner::Begun begun = owner_->Start(operation);
  if (begun == Owner::Begun::kRuns || (begun == Owner::Begun::kIssued && !stream->walk.outside())) return false;
  stream->state = Stream::State::kReady;
  if (begun == Owner::Begun::kIssued) Issued(stream, operation);
  return true;
}

bool StreamEngine::BeginWait(Stream* stream, Operation* operation) {
  Stream* const other = operation->other_stream < streams_.size() ? streams_[operation->other_stream].get() : nullptr;
  if (owner_->DeviceError(stream->device) != 0 || other == nullptr || other == stream ||
      !other->HasUpTo(operation->other_ticket))
    return true;
  if (!other->HasToIssueUpTo(operation->other_ticket)) {
    owner_->Join(operation, *other);
    Issued(stream, operation);
    operation->joined = true;
    other->joined.push_back({operation->other_ticket, stream->number, operation->ticket});
    std::push_heap(other->joined.begin(), other->joined.end());
    return true;
  }
  other->waiters.push_back({operation->other_ticket, stream->number, operation->ticket});
  std::push_heap(other->waiters.begin(), other->waiters.end());
  stream->state = Stream::State::kWaiting;
  return false;
}

// With a time it is the device's, however idle the stream is: one event's time by the device's clock and the next one's
// by ours would differ by how long either takes to tell.
bool StreamEngine::BeginEvent(Stream* stream, Operation* operation) {
  operation->reached_ns = 0;
  const bool is_timed = operation->event != 0 && sink_ != nullptr && owner_->DeviceError(stream->device) == 0;
  if (is_timed && owner_->Time(operation)) {
    Issued(stream, operation);
  } else if (stream->issued != 0) {
    owner_->NotePoint(*stream);
  }
  return true;
}

void StreamEngine::Issued(Stream* stream, Operation* operation) {
  operation->issued = true;
  ++stream->issued;
}

// An event that was re-recorded, in a stream that is ahead, keeps the time of the later recording.
void StreamEngine::ReachEvent(const Operation& operation) {
  const uint32_t event = operation.event;
  if (event >= event_tickets_.size()) event_tickets_.resize(std::max<size_t>(event + 1, 2 * event_tickets_.size()));
  if (operation.ticket < event_tickets_[event]) return;
  event_tickets_[event] = operation.ticket;
  sink_->EventReached(event, operation.reached_ns != 0 ? operation.reached_ns : NowNs());
}

// The stream's operation is over, or issued.
void StreamEngine::Pass(Stream* stream) {
  stream->at = stream->walk.Pass(stream->at, owner_->DeviceError(stream->device) != 0);
  CompleteWhatIsDone(stream);
  if (!stream->waiters.empty()) WakeWaiters(stream);
}

// A conditional node completes as a whole: what waits for a part of it, or frees what it uses, must not go on while the
// stream may come back to it.
void StreamEngine::CompleteWhatIsDone(Stream* stream) {
  if (!stream->walk.outside()) return;
  while (stream->head != stream->at && !stream->head->issued && JoinIsDone(*stream->head)) Complete(stream);
}

// The device may say that a wait is over before it says so of what that waited for. Clients see it the other way round.
bool StreamEngine::JoinIsDone(const Operation& wait) const {
  const Stream* const other = wait.joined ? streams_[wait.other_stream].get() : nullptr;
  return other == nullptr || !other->HasUpTo(wait.other_ticket);
}

void StreamEngine::ListJoined(Stream* stream) {
  auto& heap = stream->joined;
  while (!heap.empty() && !stream->HasUpTo(heap.front().ticket)) {
    if (Stream* const waiting = streams_[heap.front().stream].get(); waiting != nullptr) List(waiting);
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  }
}

void StreamEngine::Complete(Stream* stream) {
  Operation* const operation = stream->head;
  stream->head = operation->next;
  if (stream->head == nullptr) stream->tail = nullptr;
  stream->done_ticket = operation->ticket;
  stream->progressed = true;
  if (operation->kind == Operation::Kind::kTask) {
    owner_->TaskOver(operation);
  } else if (operation->kind == Operation::Kind::kEvent) {
    if (operation->event != 0 && sink_ != nullptr) ReachEvent(*operation);
  } else if (operation->kind == Operation::Kind::kStore) {
    owner_->Store(operation);
  } else if (operation->kind == Operation::Kind::kFree) {
    released_.push_back({.address = operation->freed, .kept = nullptr});
  }
  if (operation->batch != nullptr && stream->group->Leave(operation->batch)) {
    for (Stream* held : std::exchange(stream->group->batches.front().held, {})) {
      held->state = Stream::State::kReady;
      List(held);
    }
  }
  deferred_.Leave(operation->generation, &released_);
  pool_.Put(operation);
  if (!stream->joined.empty()) ListJoined(stream);
}

void StreamEngine::WakeWaiters(Stream* stream) {
  auto& heap = stream->waiters;
  while (!heap.empty() && !stream->HasToIssueUpTo(heap.front().ticket)) {
    const Stream::Waiter waiter = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    Stream* const waiting = streams_[waiter.stream].get();
    // The stream may have been drained, destroyed and even recreated since.
    if (waiting == nullptr || waiting->state != Stream::State::kWaiting || waiting->at->ticket != waiter.own_ticket)
      continue;
    waiting->state = Stream::State::kReady;
    List(waiting);
  }
}

}  // namespace tutti::device
