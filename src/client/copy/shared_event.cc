#include "client/copy/shared_event.h"

#include <time.h>

#include "base/clock.h"
#include "client/context/context.h"
#include "client/copy/value_waits.h"
#include "client/memory/ipc_memory.h"
#include "client/memory/memory.h"
#include "client/session/attachment.h"
#include "cuda/result.h"

namespace tutti::client {
namespace {

int WaitHere(const ValueCondition& condition) {
  PollPace pace;
  pace.Restart(NowNs());
  while (!condition.Holds()) {
    if (const int ended = Attachment::Get().ended()) return ended;
    const timespec nap{.tv_sec = 0, .tv_nsec = static_cast<long>(pace.SleepNs(NowNs()))};
    nanosleep(&nap, nullptr);
  }
  return cuda::CUDA_SUCCESS;
}

}  // namespace

Answer<std::unique_ptr<SharedEvent>> SharedEvent::Create(Context& context) {
  CU_ASSIGN_OR_REFUSE(const uint64_t words, AskForMemory(context, wire::MemoryKind::kScratch, kBytes, kBytes));
  return std::unique_ptr<SharedEvent>(new SharedEvent(words, true));
}

Answer<std::unique_ptr<SharedEvent>> SharedEvent::Open(Context& context, const wire::ExportedMemory& name) {
  CU_ASSIGN_OR_REFUSE(const uint64_t words, IpcMemory::Get().Open(context, name));
  return std::unique_ptr<SharedEvent>(new SharedEvent(words, false));
}

// Records that are still on their way to its words are before the free.
SharedEvent::~SharedEvent() {
  if (own_) {
    ReleaseMemory(words_);
  } else {
    IpcMemory::Get().Close(words_);
  }
}

Answer<wire::ExportedMemory> SharedEvent::Name() {
  if (!own_) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  return ExportMemory(words_, true);
}

ValueCondition SharedEvent::ReachedBy(uint64_t number) const {
  return {.address = words_ + sizeof(uint64_t) * (1 + number % kWords),
          .value = number,
          .bytes = sizeof(uint64_t),
          .comparison = cuda::CU_STREAM_WAIT_VALUE_GEQ};
}

bool SharedEvent::IsLast(uint64_t number) const {
  const auto last = AddToWord(words_, 0);
  return !last || *last == number;
}

Answer<uint64_t> SharedEvent::Record(Stream& stream) {
  CU_ASSIGN_OR_REFUSE(const uint64_t before, AddToWord(words_, 1));
  const uint64_t number = before + 1;
  const ValueCondition reached = ReachedBy(number);
  if (number > kWords) CU_TRY_OR_REFUSE(WaitHere(ReachedBy(number - kWords)));
  stream.Submit(wire::RecordKind::kFill, wire::FillBody{.destination = reached.address,
                                                        .width = 1,
                                                        .height = 1,
                                                        .pitch = reached.bytes,
                                                        .value = number,
                                                        .element_bytes = reached.bytes,
                                                        .reserved = 0});
  ValueWaits::Hurry();
  return number;
}

Answer<std::optional<ValueCondition>> SharedEvent::LastRecording() const {
  CU_ASSIGN_OR_REFUSE(const uint64_t number, AddToWord(words_, 0));
  if (number == 0) return std::nullopt;
  return ReachedBy(number);
}

int SharedEvent::Query() const {
  CU_ASSIGN(const auto last, LastRecording());
  return !last || last->Holds() ? cuda::CUDA_SUCCESS : cuda::CUDA_ERROR_NOT_READY;
}

int SharedEvent::Synchronize() const {
  CU_ASSIGN(const auto last, LastRecording());
  return last ? WaitHere(*last) : cuda::CUDA_SUCCESS;
}

int SharedEvent::MakeWait(Stream& stream) const {
  CU_ASSIGN(const auto last, LastRecording());
  if (!last || last->Holds()) return cuda::CUDA_SUCCESS;
  return ValueWaits::Get().Submit(stream, *last);
}

}  // namespace tutti::client
