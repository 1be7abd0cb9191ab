// Records on their way into streams: validated, made into operations, and given to the executor when their turn comes.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/result.h"
#include "device/gpu/check_transfer.h"
#include "device/gpu/gpu_space.h"

namespace tutti::device::gpu {

using executor::DispatchHead;
using executor::DispatchKind;

Result<Stream*> GpuSpace::FindStream(uint32_t number) const {
  Stream* const stream = engine_.Find(number);
  if (stream == nullptr) return tutti::Fail(fmt::format("there is no stream {}", number));
  return stream;
}

Status GpuSpace::CreateStream(uint32_t stream, const StreamOptions& options) {
  if (options.device != 0)
    return tutti::Fail(fmt::format("a stream on device {}, which does not exist", options.device));
  std::lock_guard lock(mutex_);
  return engine_.Create(stream, options);
}

Status GpuSpace::DestroyStream(uint32_t stream) {
  std::lock_guard lock(mutex_);
  return engine_.Destroy(stream);
}

Result<GpuOperation*> GpuSpace::NewTask(uint64_t ticket, uint64_t argument_bytes) {
  TUTTI_ASSIGN(Operation* const operation, engine_.NewOperation(Operation::Kind::kTask, ticket, argument_bytes));
  auto* const task = static_cast<GpuOperation*>(operation);
  task->work = GpuOperation::Work::kNothing;
  task->computes = false;
  task->ends = 0;
  return task;
}

Status GpuSpace::Launch(uint32_t stream_number, uint64_t ticket, const Grid& grid) {
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_ASSIGN(GpuOperation* const operation, NewTask(ticket, grid.arguments.size()));
  const auto kernel = modules_.FindToLaunch(grid.kernel);
  if (!kernel) {
    FailLocked(
        {.code = cuda::CUDA_ERROR_INVALID_HANDLE, .text = fmt::format("launch of unknown kernel {}", grid.kernel)});
  } else if (grid.arguments.size() < kernel->param_bytes || grid.arguments.size() > wire::kMaxArgumentBytes) {
    FailLocked({.code = cuda::CUDA_ERROR_INVALID_VALUE,
                .text = fmt::format("launch with {} argument bytes in place of {}", grid.arguments.size(),
                                    kernel->param_bytes)});
  } else {
    operation->work = GpuOperation::Work::kLaunch;
    operation->computes = true;
    executor::LaunchDispatch& launch = operation->launch;
    launch = {.module = kernel->module,
              .kernel = kernel->number,
              .dynamic_shared_bytes = grid.dynamic_shared_bytes,
              .cooperative = grid.cooperative ? 1u : 0u,
              .argument_bytes = kernel->param_bytes};
    std::copy_n(grid.grid, 3, launch.grid);
    std::copy_n(grid.block, 3, launch.block);
    std::copy_n(grid.cluster, 3, launch.cluster);
    operation->arguments.assign(grid.arguments.begin(), grid.arguments.begin() + kernel->param_bytes);
    counters_.AddAlone(metrics::Counter::launches);
  }
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

bool GpuSpace::Holds(uint64_t address, uint64_t bytes, bool writes) {
  return memory_->Contains(address, bytes, writes) || modules_.HasVariable(address, bytes, writes);
}

Status GpuSpace::Copy(uint32_t stream_number, uint64_t ticket, const wire::CopyBody& copy) {
  const auto to = DestinationOf(copy), from = SourceOf(copy);
  const bool to_is_ours = to && HoldsSide(*to, DestinationRowsOf(copy), true);
  const bool from_is_ours = from && HoldsSide(*from, SourceRowsOf(copy), false);
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_ASSIGN(GpuOperation* const operation, NewTask(ticket));
  if (!to_is_ours || !from_is_ours) {
    FailLocked({.code = cuda::CUDA_ERROR_ILLEGAL_ADDRESS,
                .text = fmt::format("copy with illegal address {:#x}", to_is_ours ? copy.source : copy.destination)});
  } else if (CallsFor(copy) > kMostCalls) {
    FailLocked({.code = cuda::CUDA_ERROR_NOT_SUPPORTED, .text = "a copy of too many planes or overlapping rows"});
  } else if (to->bytes != 0) {
    operation->work = GpuOperation::Work::kCopy;
    const auto is_on_host = [this](uint64_t address) { return memory_->Reached(address, 1) != nullptr; };
    operation->computes = !is_on_host(to->address) && !is_on_host(from->address);
    operation->copy = copy;
    counters_.AddAlone(metrics::Counter::copied_bytes, BytesOf(copy));
  }
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

// A word that others wait for: no device is asked, whoever holds it (device/gpu/shared_words.h).
bool GpuSpace::IsSharedWord(const wire::FillBody& fill) const {
  return fill.width == 1 && fill.height == 1 && fill.element_bytes == sizeof(uint64_t) &&
         memory_->FindWord(fill.destination, fill.element_bytes, true).in != nullptr;
}

void GpuSpace::Store(Operation* operation) {
  const wire::FillBody& fill = static_cast<GpuOperation*>(operation)->fill;
  const GpuMemory::Word word = memory_->FindWord(fill.destination, fill.element_bytes, true);
  if (word.in != nullptr) word.in->Store(word.offset, fill.value);
}

Status GpuSpace::Fill(uint32_t stream_number, uint64_t ticket, const wire::FillBody& fill) {
  if (IsSharedWord(fill)) {
    return SubmitSimple(Operation::Kind::kStore, stream_number, ticket,
                        [&fill](Operation* operation) { static_cast<GpuOperation*>(operation)->fill = fill; });
  }
  const auto to = DestinationOf(fill);
  const bool is_ours = to && (to->bytes == 0 || Holds(to->address, to->bytes, true));
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_ASSIGN(GpuOperation* const operation, NewTask(ticket));
  if (!is_ours) {
    FailLocked({.code = cuda::CUDA_ERROR_ILLEGAL_ADDRESS,
                .text = fmt::format("fill with illegal address {:#x}", fill.destination)});
  } else if (CallsFor(fill) > kMostCalls) {
    FailLocked({.code = cuda::CUDA_ERROR_NOT_SUPPORTED, .text = "a fill of too many overlapping rows"});
  } else if (to->bytes != 0) {
    operation->work = GpuOperation::Work::kFill;
    operation->computes = true;
    operation->fill = fill;
    counters_.AddAlone(metrics::Counter::copied_bytes, BytesOf(fill));
  }
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

Status GpuSpace::RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) {
  return SubmitSimple(Operation::Kind::kEvent, stream, ticket,
                      [event](Operation* operation) { operation->event = event; });
}

Status GpuSpace::Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) {
  return SubmitSimple(Operation::Kind::kWait, stream, ticket, [&](Operation* operation) {
    operation->other_stream = other_stream;
    operation->other_ticket = std::min(other_ticket, ticket);  // only what came before can be waited for
  });
}

Status GpuSpace::HostCall(uint32_t stream, uint64_t ticket, uint64_t token) {
  return SubmitSimple(Operation::Kind::kHostCall, stream, ticket,
                      [token](Operation* operation) { operation->token = token; });
}

Status GpuSpace::Mark(uint32_t stream, uint64_t ticket) {
  return SubmitSimple(Operation::Kind::kMark, stream, ticket, [](Operation*) {});
}

Status GpuSpace::FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) {
  const uint64_t freed = memory_->Retire(address) ? address : 0;
  if (freed != 0) arrays_.Retire(freed, *memory_);
  return SubmitSimple(Operation::Kind::kFree, stream, ticket,
                      [freed](Operation* operation) { operation->freed = freed; });
}

Status GpuSpace::HostCallDone(uint32_t stream, uint64_t token) {
  std::unique_lock lock(mutex_);
  engine_.HostCallDone(stream, token);
  UnlockAndRunDeferred(&lock);
  return {};
}

LentStreams::Lent& GpuSpace::Lend(const Stream& stream) {
  bool opened = false;
  LentStreams::Lent& lent = lent_.LendTo(stream.number, stream.urgency, &opened);
  if (opened) {
    dispatch_.Add({.kind = DispatchKind::kOpenStream, .stream = lent.number},
                  executor::OpenStreamDispatch{.priority = static_cast<int32_t>(stream.urgency) -
                                                           static_cast<int32_t>(kUrgencies - 1)});
  }
  return lent;
}

// The Space's lock is held.
GpuSpace::Begun GpuSpace::Start(Operation* started) {
  auto* const operation = static_cast<GpuOperation*>(started);
  const Stream& stream = *operation->stream;
  if (operation->kind == Operation::Kind::kConditional) {  // a rest: its stream gets there
    Time(operation);
    return Begun::kRuns;
  }
  if (operation->work == GpuOperation::Work::kNothing) return Begun::kOver;
  LentStreams::Lent& lent = Lend(stream);
  if (lent_.unfinished() == 0 && gate_.limited()) gate_.WorkCame(NowNs());
  lent_.Note(lent, stream.number, ++lent.numbered, operation, {});
  Give(lent, {.kind = LentStreams::Held::Kind::kWork, .sequence = lent.numbered, .work = operation});
  return Begun::kIssued;
}

// Where both share a stream of the executor, or the other has none any more, the order of that is enough.
void GpuSpace::Join(Operation* operation, const Stream& other) { JoinTo(operation, other.number); }

void GpuSpace::JoinTo(Operation* operation, uint32_t other) {
  const Stream& stream = *operation->stream;
  const LentStreams::Lent* const awaited = lent_.Of(other);
  LentStreams::Lent& lent = Lend(stream);
  const uint64_t last = awaited == nullptr || awaited == &lent ? 0 : lent_.LastUpTo(other, operation->other_ticket);
  if (last != 0) {
    Give(lent, {.kind = LentStreams::Held::Kind::kWait,
                .sequence = ++lent.numbered,
                .other = awaited->number,
                .other_sequence = last});
  }
  lent_.Note(lent, stream.number, lent.numbered, operation,
             {.stream = last != 0 ? awaited->number : 0, .sequence = last});
}

void GpuSpace::NotePoint(const Stream& stream) {
  LentStreams::Lent* const lent = lent_.Of(stream.number);
  if (lent != nullptr) Give(*lent, {.kind = LentStreams::Held::Kind::kPoint, .sequence = lent->numbered});
}

bool GpuSpace::Time(Operation* event) {
  const Stream& stream = *event->stream;
  LentStreams::Lent& lent = Lend(stream);
  lent_.Note(lent, stream.number, ++lent.numbered, event, {});
  Give(lent, {.kind = LentStreams::Held::Kind::kTime, .sequence = lent.numbered});
  return true;
}

// A driver's call waits where a stream of it is full, and the executor with it, which other streams need. So it never
// has that much.
bool GpuSpace::MayGive(const LentStreams::Lent& lent, const LentStreams::Held& record) const {
  if (leaving_ >= Leaving::kDrains) return false;
  if (record.kind == LentStreams::Held::Kind::kPoint) return true;
  // What is no kernel cannot be withdrawn: it is not to wait for others' kernels behind one that has not begun.
  const bool is_transfer =
      record.kind == LentStreams::Held::Kind::kWork && record.work->work != GpuOperation::Work::kLaunch;
  if (is_transfer && lent.awaiting > lent.done && MayWithdraw()) return false;
  const uint64_t ahead = lent.given - lent.done;
  const bool limited = record.kind == LentStreams::Held::Kind::kWork && (record.work->computes || gate_.yields());
  const uint32_t most = limited ? gate_.most_ahead() : TimeGate::kMostAhead;
  if (ahead >= most && !(most == 0 && ahead == 0 && ahead_ != 0 && gate_.stalled())) return false;
  return record.kind != LentStreams::Held::Kind::kWait || lent_.all()[record.other]->given >= record.other_sequence;
}

void GpuSpace::Give(LentStreams::Lent& lent, const LentStreams::Held& record) {
  if (lent.held.empty() && MayGive(lent, record)) return GiveNow(lent, record);
  lent.held.push_back(record);
  ++held_back_;
}

void GpuSpace::GiveNow(LentStreams::Lent& lent, const LentStreams::Held& record) {
  DispatchHead head{.stream = lent.number, .sequence = record.sequence};
  if (record.kind == LentStreams::Held::Kind::kPoint) {
    head.kind = DispatchKind::kPoint;
    dispatch_.Add(head, executor::PointDispatch{});
    return;
  }
  lent.given = record.sequence;
  if (++ahead_ == 1) charged_until_ns_ = NowNs();
  if (record.kind == LentStreams::Held::Kind::kTime) {
    head.kind = DispatchKind::kTime;
    dispatch_.Add(head, executor::TimeDispatch{});
    return;
  }
  const bool is_wait = record.kind == LentStreams::Held::Kind::kWait;
  if (is_wait || record.work->work == GpuOperation::Work::kLaunch) lent.awaiting = record.sequence;
  if (is_wait) {
    head.kind = DispatchKind::kWait;
    dispatch_.Add(head, executor::WaitDispatch{.other_stream = record.other, .other_sequence = record.other_sequence});
    return;
  }
  const GpuOperation& work = *record.work;
  if (gate_.most_ahead() == 0 && work.computes) gate_.NoteGivenWhileClosed();
  if (work.computes && ++computing_ == 1) computed_ns_ = NowNs();
  switch (work.work) {
    case GpuOperation::Work::kLaunch:
      head.kind = DispatchKind::kLaunch;
      dispatch_.Add(head, work.launch, work.arguments);
      break;
    case GpuOperation::Work::kCopy:
      head.kind = DispatchKind::kCopy;
      dispatch_.Add(head, work.copy);
      break;
    case GpuOperation::Work::kFill:
      head.kind = DispatchKind::kFill;
      dispatch_.Add(head, work.fill);
      break;
    case GpuOperation::Work::kNothing: break;
  }
}

// A record that is given may be what one of another stream waits for.
bool GpuSpace::GiveWhatIsHeld() {
  constexpr int kMostRounds = 8;
  bool again = held_back_ != 0;
  for (int round = 0; again && round < kMostRounds; ++round) {
    again = false;
    for (const auto& lent : lent_.all()) {
      while (!lent->held.empty() && MayGive(*lent, lent->held.front())) {
        GiveNow(*lent, lent->held.front());
        lent->held.pop_front();
        --held_back_;
        again = true;
      }
    }
  }
  return again;
}

}  // namespace tutti::device::gpu
