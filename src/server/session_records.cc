// Executes the records of a client's ring. Called with the ring's lock held; an error means that the client has broken
// the protocol. What the device refuses for other reasons (no memory, no such allocation) is answered or dropped
// instead.
#include <fmt/format.h>

#include <cstring>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "cuda/result.h"
#include "server/session.h"
#include "wire/backlog.h"
#include "wire/validate.h"

namespace tutti::server {
namespace {

using wire::RecordKind;

// Those that call what device::Space::memory_waits speaks of.
bool UsesMemory(RecordKind kind) {
  switch (kind) {
    case RecordKind::kAllocate:
    case RecordKind::kMap:
    case RecordKind::kExport:
    case RecordKind::kHostMemory:
    case RecordKind::kArrayCreate:
    case RecordKind::kTextureCreate:
    case RecordKind::kConditionCreate:
    case RecordKind::kWord:
    case RecordKind::kKernelLimit: return true;
    default: return false;
  }
}

}  // namespace

Status Session::MayUse(uint32_t device) const {
  if (!IsWithheld(device)) return {};
  return Fail(fmt::format("device {} is not for this client", device));
}

Status Session::Handle(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_TRY(wire::ValidateHead(untrusted));
  if (UsesMemory(untrusted.Unchecked().kind) && space_->memory_waits()) return HandleAside(untrusted);
  return Execute(untrusted);
}

// On a loader, since the thread that takes records takes those of all clients. The ring is paused meanwhile, so the
// client's order holds and the record stays as it is.
Status Session::HandleAside(const wire::Untrusted<wire::RawRecord>& untrusted) {
  Pause();
  const bool taken = services_.loaders->Add(info_.id, [self = shared_from_this(), untrusted] {
    if (self->over()) return;
    if (const Status done = self->Execute(untrusted); !done) self->Break(done.error().text);
    self->Resume();
  });
  if (!taken) return Fail("the client already has as much work on loader threads as it may");
  return {};
}

Status Session::Execute(const wire::Untrusted<wire::RawRecord>& untrusted) {
  // Checked by ValidateHead.
  const wire::RawRecord& head = untrusted.Unchecked();
  const uint32_t stream = head.stream;
  const uint64_t ticket = head.ticket;

  switch (head.kind) {
    case RecordKind::kLaunch: return HandleLaunch(untrusted);
    case RecordKind::kCopy: {
      TUTTI_ASSIGN(const wire::CopyBody copy, wire::ValidateCopy(untrusted));
      return space_->Copy(stream, ticket, copy);
    }
    case RecordKind::kFill: {
      TUTTI_ASSIGN(const wire::FillBody fill, wire::ValidateFill(untrusted));
      return space_->Fill(stream, ticket, fill);
    }
    case RecordKind::kEventRecord: {
      TUTTI_ASSIGN(const wire::EventRecordBody event, wire::ValidateEventRecord(untrusted));
      return space_->RecordEvent(stream, ticket, event.event);
    }
    case RecordKind::kWait: {
      TUTTI_ASSIGN(const wire::WaitBody wait, wire::ValidateWait(untrusted));
      return space_->Wait(stream, ticket, wait.stream, wait.ticket);
    }
    case RecordKind::kHostCall: return HandleHostCall(untrusted);
    case RecordKind::kMarker: return space_->Mark(stream, ticket);
    case RecordKind::kStreamFree: return space_->FreeInStream(stream, ticket, wire::ValidateFree(untrusted).address);
    case RecordKind::kConditionSet:
    case RecordKind::kConditional:
    case RecordKind::kBody:
    case RecordKind::kConditionalEnd:
    case RecordKind::kConditionDestroy:
    case RecordKind::kConditionCreate: return HandleConditional(untrusted);
    case RecordKind::kGraphLaunch:
    case RecordKind::kEnvironmentEnd:
    case RecordKind::kGraphDrop:
    case RecordKind::kGraphUpload: return HandleGraph(untrusted);
    case RecordKind::kStreamCreate: return HandleStreamCreate(untrusted);
    case RecordKind::kStreamDestroy: return space_->DestroyStream(stream);
    case RecordKind::kModuleUnload: (void)space_->UnloadModule(wire::ValidateModuleUnload(untrusted).module); return {};
    case RecordKind::kFree: {
      const uint64_t address = wire::ValidateFree(untrusted).address;
      if (!space_->Free(address)) log::Debug("Client {} freed {:#x}, where no allocation begins", info_.pid, address);
      return {};
    }
    case RecordKind::kHostCallDone:
      sink_->HostCallAnswered();
      return space_->HostCallDone(stream, wire::ValidateHostCall(untrusted).token);
    case RecordKind::kContextLimit: return HandleContextLimit(untrusted);
    case RecordKind::kHeapLimit: return HandleHeapLimit(untrusted);
    case RecordKind::kKernelLimit: return HandleKernelLimit(untrusted);
    case RecordKind::kAllocate: return HandleAllocate(untrusted);
    case RecordKind::kPrepare: return HandlePrepare(untrusted);
    case RecordKind::kOccupancy: return HandleOccupancy(untrusted);
    case RecordKind::kReset: return HandleReset(untrusted);
    case RecordKind::kMap:
    case RecordKind::kExport:
    case RecordKind::kImport:
    case RecordKind::kHostMemory:
    case RecordKind::kImportDrop: return HandleSharing(untrusted);
    case RecordKind::kWord: {
      TUTTI_ASSIGN(const wire::WordBody read, wire::ValidateWord(untrusted));
      sink_->ReplyWith(head.reply, space_->Word(read.address, read.bytes, read.add));
      return {};
    }
    case RecordKind::kArrayCreate:
    case RecordKind::kTextureCreate:
    case RecordKind::kTextureDestroy: return HandleArrays(untrusted);
    case RecordKind::kMemoryUse: return HandleMemoryUse(untrusted);
    case RecordKind::kNone: break;
  }
  return Fail("a record of unknown kind");
}

Status Session::HandleLaunch(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::Launch launch, wire::ValidateLaunch(untrusted));
  device::Grid grid{.kernel = launch.body.kernel,
                    .dynamic_shared_bytes = launch.body.dynamic_shared_bytes,
                    .cooperative = (launch.body.flags & wire::kLaunchCooperative) != 0,
                    .environment = launch.body.environment,
                    .arguments = launch.arguments};
  std::copy(std::begin(launch.body.grid), std::end(launch.body.grid), grid.grid);
  std::copy(std::begin(launch.body.block), std::end(launch.body.block), grid.block);
  std::copy(std::begin(launch.cluster), std::end(launch.cluster), grid.cluster);
  grid.explicit_cluster = launch.body.cluster_packed != 0;

  std::vector<uint8_t> arguments;
  if (launch.arguments_address != 0) {
    const uint8_t* const bytes = space_->Reached(launch.arguments_address, launch.body.argument_bytes);
    if (bytes == nullptr) {
      return Fail(fmt::format("launch arguments at {:#x}, outside of what the server reaches of the window",
                              launch.arguments_address));
    }
    arguments.assign(bytes, bytes + launch.body.argument_bytes);
    grid.arguments = arguments;
  }
  const wire::RawRecord& head = untrusted.Unchecked();
  Status launched = space_->Launch(head.stream, head.ticket, grid);
  if (launched || launched.error().code != device::kNotLoaded) return launched;
  LaunchWhenLoaded(head.stream, head.ticket, grid);
  return {};
}

// Loading takes a millisecond, or a compilation, so it runs on a loader thread. Later records wait in the ring, since
// they may follow it in its stream.
void Session::LaunchWhenLoaded(uint32_t stream, uint64_t ticket, const device::Grid& grid) {
  Pause();
  OnLoader([self = shared_from_this(), stream, ticket, grid = device::Grid(grid),
            arguments = std::vector<uint8_t>(grid.arguments.begin(), grid.arguments.end())]() mutable {
    if (self->over()) return;
    grid.arguments = arguments;
    Status launched;
    do {
      self->space_->LoadAgain(grid.kernel);
      launched = self->space_->Launch(stream, ticket, grid);
    } while (!launched && launched.error().code == device::kNotLoaded);  // another kernel has evicted it
    if (!launched) self->Break(launched.error().text);
    self->Resume();
  });
}

Status Session::HandleConditional(const wire::Untrusted<wire::RawRecord>& untrusted) {
  const wire::RawRecord& head = untrusted.Unchecked();
  switch (head.kind) {
    case RecordKind::kConditionSet: {
      const wire::ConditionSetBody set = wire::ValidateConditionSet(untrusted);
      return space_->SetCondition(head.stream, head.ticket, set.condition, set.value);
    }
    case RecordKind::kConditional: {
      TUTTI_ASSIGN(const wire::ConditionalBody node, wire::ValidateConditional(untrusted));
      return space_->BeginConditional(head.stream, head.ticket, node.condition, node.kind);
    }
    case RecordKind::kBody: return space_->BeginBody(head.stream, head.ticket, wire::ValidateBody(untrusted).number);
    case RecordKind::kConditionalEnd: {
      TUTTI_ASSIGN(const wire::ConditionalEndBody end, wire::ValidateConditionalEnd(untrusted));
      return space_->EndConditional(head.stream, head.ticket, end.no_more != 0);
    }
    case RecordKind::kConditionDestroy:
      (void)space_->DestroyCondition(wire::ValidateConditionDestroy(untrusted).condition);
      return {};
    default: break;
  }
  TUTTI_ASSIGN(const wire::ConditionCreateBody body,
               wire::ValidateConditionCreate(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  sink_->ReplyWith(head.reply, space_->CreateCondition(body.device));
  return {};
}

Status Session::HandleStreamCreate(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::StreamCreateBody body,
               wire::ValidateStreamCreate(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  const wire::RawRecord& head = untrusted.Unchecked();
  devices_used_.fetch_or(1u << body.device, std::memory_order_relaxed);
  TUTTI_TRY(space_->CreateStream(head.stream, {.device = body.device,
                                               .context = body.context,
                                               .priority = body.priority,
                                               .legacy = (body.flags & wire::kStreamLegacy) != 0,
                                               .non_blocking = (body.flags & wire::kStreamNonBlocking) != 0}));
  sink_->StreamBegins(head.stream, head.ticket);
  return {};
}

Status Session::HandleMemoryUse(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::MemoryUseBody body,
               wire::ValidateMemoryUse(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  sink_->Reply(untrusted.Unchecked().reply, 0, {services_.backend->memory(body.device).device_bytes(), 0, 0, 0});
  return {};
}

Status Session::HandleAllocate(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::AllocateBody body,
               wire::ValidateAllocate(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  devices_used_.fetch_or(1u << body.device, std::memory_order_relaxed);
  const uint16_t reply = untrusted.Unchecked().reply;
  if (body.kind == wire::MemoryKind::kAddresses) {
    sink_->ReplyWith(reply, space_->Reserve(body.device, body.bytes, body.alignment, body.wish));
    return {};
  }
  const bool on_device = body.kind == wire::MemoryKind::kDevice || body.kind == wire::MemoryKind::kManaged;
  const auto allocate = [this, body] { return space_->Allocate(body.device, body.kind, body.bytes, body.alignment); };
  Allocate(allocate, reply, body.device, body.bytes, on_device);
  return {};
}

void Session::Allocate(const Allocation& allocate, uint16_t reply, uint32_t device, uint64_t bytes, bool on_device) {
  const uint64_t now_ns = NowNs();
  const auto address = allocate();
  if (address || address.error().code != cuda::CUDA_ERROR_OUT_OF_MEMORY) return sink_->ReplyWith(reply, address);
  Pause();
  AllocateWithRoom(allocate, reply,
                   {.client = info_.id,
                    .device = device,
                    .bytes = bytes,
                    .on_device = on_device,
                    .first_ns = now_ns,
                    .tried_ns = now_ns},
                   address.error());
}

// A call that has been reached no longer counts in its stream's backlog: the client may answer it without taking it,
// and after an error calls are only reported. This bounds the calls that wait to be taken.
Status Session::HandleHostCall(const wire::Untrusted<wire::RawRecord>& untrusted) {
  const wire::RawRecord& head = untrusted.Unchecked();
  TUTTI_TRY(space_->HostCall(head.stream, head.ticket, wire::ValidateHostCall(untrusted).token));
  if (sink_->host_calls_waiting() > wire::kMostBacklog) return Fail("more host calls than a client may leave untaken");
  return {};
}

// The device may be full of memory of clients that have ended, or that others have borrowed: the server waits for those
// and evicts these, one after the other, until there is room or none is left. The ring is paused meanwhile.
void Session::AllocateWithRoom(const Allocation& allocate, uint16_t reply, const Departures::Refused& refused,
                               const Error& refusal) {
  services_.make_room(refused, [weak = weak_from_this(), allocate, reply, refused, refusal](bool again) {
    const std::shared_ptr<Session> self = weak.lock();
    if (self == nullptr || self->over()) return;
    if (!again) {
      self->sink_->Refuse(reply, refusal);
      return self->Resume();
    }
    // On a loader: this is the main thread.
    self->OnLoader([self, allocate, reply, refused] {
      if (self->over()) return;
      Departures::Refused next = refused;
      next.tried_ns = NowNs();
      const auto address = allocate();
      if (!address && address.error().code == cuda::CUDA_ERROR_OUT_OF_MEMORY)
        return self->AllocateWithRoom(allocate, reply, next, address.error());
      self->sink_->ReplyWith(reply, address);
      self->Resume();
    });
  });
}

void Session::Resume() {
  if (pauses_.fetch_sub(1, std::memory_order_acq_rel) == 1) services_.watch->Wake(watch_number_);
}

void Session::OnLoader(std::function<void()> work) {
  if (!services_.loaders->Add(info_.id, std::move(work)))
    Break("the client already has as much work on loader threads as it may");
}

Status Session::HandleContextLimit(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::ContextLimitBody body,
               wire::ValidateContextLimit(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  const uint32_t part_ppm = body.part_ppm == 0 ? wire::kWholeDevice : body.part_ppm;
  return space_->LimitContext(body.device, body.context, static_cast<double>(part_ppm) / wire::kWholeDevice);
}

Status Session::HandleHeapLimit(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::HeapLimitBody body,
               wire::ValidateHeapLimit(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  return space_->LimitHeap(body.device, body.bytes);
}

Status Session::HandleKernelLimit(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::KernelLimitBody body,
               wire::ValidateKernelLimit(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  return space_->SetKernelLimit(body.device, body.limit, body.value);
}

// May compile for seconds, so it runs on a loader; the ring goes on.
Status Session::HandlePrepare(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::PrepareBody body, wire::ValidatePrepare(untrusted));
  const bool taken =
      services_.loaders->Add(info_.id, [self = shared_from_this(), body, reply = untrusted.Unchecked().reply] {
        if (self->over()) return;
        const auto kernel = self->space_->Prepare(body.module, body.function, body.block);
        if (!kernel) {
          self->KeepPrepareLog(body.module, body.function, kernel.error().text);
          return self->sink_->Refuse(reply, kernel.error());
        }
        self->sink_->Reply(reply, 0, {kernel->id, kernel->local_bytes, kernel->max_threads, 0});
      });
  if (!taken) return Fail("the client already waits for as many kernels as it may");
  return {};
}

Status Session::HandleOccupancy(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::OccupancyBody body, wire::ValidateOccupancy(untrusted));
  const bool taken =
      services_.loaders->Add(info_.id, [self = shared_from_this(), body, reply = untrusted.Unchecked().reply] {
        if (self->over()) return;
        self->sink_->ReplyWith(reply, self->space_->BlocksPerSm(body.module, body.function, body.block_threads,
                                                                body.dynamic_shared_bytes));
      });
  if (!taken) return Fail("the client already waits for as many kernels as it may");
  return {};
}

// Waits for blocks that may run on the very thread that took this record, so it runs on a loader. No other operation of
// the space may run meanwhile, so the ring is paused.
Status Session::HandleReset(const wire::Untrusted<wire::RawRecord>& untrusted) {
  TUTTI_ASSIGN(const wire::ResetBody body,
               wire::ValidateReset(untrusted, static_cast<uint32_t>(services_.backend->devices().size())));
  TUTTI_TRY(MayUse(body.device));
  Pause();
  const bool taken =
      services_.loaders->Add(info_.id, [self = shared_from_this(), body, reply = untrusted.Unchecked().reply] {
        if (self->over()) return;
        self->space_->Reset(body.device);
        self->sink_->Reply(reply, 0, {0, 0, 0, 0});
        self->Resume();
      });
  if (!taken) return Fail("the client already waits for as many resets as it may");
  return {};
}

}  // namespace tutti::server
