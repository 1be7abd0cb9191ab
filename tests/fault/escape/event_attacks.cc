// Attacks through the client library on events that processes share (cuIpcGetEventHandle), beside who has made them.
#include "event_attacks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "wire/share_handle.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;
using wire::ShareHandle;
using wire::ShareKind;

constexpr size_t kBytes = 2 << 20;

[[noreturn]] void GiveUp(AttackPage& page, const std::string& what) {
  fmt::format_to_n(page.note, sizeof page.note - 1, "{}", what);
  _exit(1);
}
void Must(AttackPage& page, const char* call, CUresult result) {
  if (result != CUDA_SUCCESS) GiveUp(page, fmt::format("{}: {}", call, static_cast<int>(result)));
}

void Begin(AttackPage& page) {
  CUcontext context = nullptr;
  Must(page, "cuInit", cuInit(0));
  Must(page, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, 0));
  Must(page, "cuCtxSetCurrent", cuCtxSetCurrent(context));
}

CUstream StreamOf(AttackPage& page) {
  CUstream stream = nullptr;
  Must(page, "cuStreamCreate", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// Whatever it has tried, it can still work.
void Compute(AttackPage& page) {
  CUdeviceptr memory = 0;
  uint32_t word = 0;
  Must(page, "cuMemAlloc", cuMemAlloc_v2(&memory, 64));
  Must(page, "cuMemsetD32", cuMemsetD32_v2(memory, 7, 16));
  Must(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(&word, memory, sizeof word));
  if (word != 7) GiveUp(page, "its memory has another word");
}

CUevent Opened(AttackPage& page, const SharedWithAttacker& shared) {
  CUevent event = nullptr;
  Must(page, "cuIpcOpenEventHandle", cuIpcOpenEventHandle(&event, shared.event));
  return event;
}

void StayShut(void* gate) {
  while (!static_cast<std::atomic<bool>*>(gate)->load()) std::this_thread::sleep_for(1ms);
}

void AskForTheMakersEnd(SharedWithAttacker& shared) {
  shared.maker_is_to_end.store(true);
  while (!shared.maker_has_ended.load()) std::this_thread::sleep_for(1ms);
}

// Of another kind than it is.
template <typename To, typename From>
To As(const From& handle, ShareKind kind) {
  ShareHandle said;
  std::memcpy(static_cast<void*>(&said), &handle, sizeof said);
  said.kind = kind;
  To forged;
  std::memcpy(&forged, &said, sizeof forged);
  return forged;
}

// All that there is to be done with it; what comes of it is the attacker's affair.
void Use(CUevent event, CUstream stream) {
  (void)cuEventQuery(event);
  (void)cuEventRecord(event, stream);
  (void)cuStreamWaitEvent(stream, event, 0);
  (void)cuEventQuery(event);
}

constexpr EventAttack kAttacks[] = {
    {"opens_handles_that_are_forged", false,
     [](AttackPage& page, SharedWithAttacker& shared) {
       for (size_t at = 0; at < offsetof(ShareHandle, pool); ++at) {
         CUipcEventHandle forged = shared.event;
         reinterpret_cast<uint8_t*>(&forged)[at] ^= 1u << (at % 8);
         CUevent event = nullptr;
         if (cuIpcOpenEventHandle(&event, forged) == CUDA_SUCCESS)
           GiveUp(page, fmt::format("a handle with another byte {} is one", at));
       }
       std::mt19937_64 random(1);
       for (int i = 0; i < 200; ++i) {
         ShareHandle forged{.kind = ShareKind::kEvent,
                            .memory = {.id = i % 2 == 0 ? random() : i / 2u + 1u, .secret = {random(), random()}}};
         CUipcEventHandle bytes;
         std::memcpy(&bytes, &forged, sizeof bytes);
         CUevent event = nullptr;
         if (cuIpcOpenEventHandle(&event, bytes) == CUDA_SUCCESS) GiveUp(page, "a handle that is made up is one");
       }
     }},
    {"opens_memory_as_an_event", false,
     [](AttackPage& page, SharedWithAttacker& shared) {
       CUevent event = nullptr;
       const CUstream stream = StreamOf(page);
       if (cuIpcOpenEventHandle(&event, As<CUipcEventHandle>(shared.memory, ShareKind::kEvent)) == CUDA_SUCCESS)
         Use(event, stream);
     }},
    {"opens_an_event_as_memory", false,
     [](AttackPage& page, SharedWithAttacker& shared) {
       CUdeviceptr memory = 0;
       const CUstream stream = StreamOf(page);
       if (cuIpcOpenMemHandle_v2(&memory, As<CUipcMemHandle>(shared.event, ShareKind::kMemory), 1) != CUDA_SUCCESS)
         return;
       std::vector<uint8_t> bytes(4096);
       (void)cuMemcpyDtoHAsync_v2(bytes.data(), memory, bytes.size(), stream);
       (void)cuMemsetD32Async(memory, 0, 1024, stream);
       (void)cuMemsetD32Async(memory + 4096, 0, 1024, stream);
       (void)cuStreamSynchronize(stream);
       _exit(0);  // its context may have failed
     }},
    {"uses_what_its_maker_has_left", true,
     [](AttackPage& page, SharedWithAttacker& shared) {
       const CUevent event = Opened(page, shared);
       const CUstream stream = StreamOf(page);
       if (cuEventQuery(event) != CUDA_ERROR_NOT_READY) GiveUp(page, "it is reached, though its maker waits");
       Must(page, "cuStreamWaitEvent", cuStreamWaitEvent(stream, event, 0));
       AskForTheMakersEnd(shared);
       Must(page, "cuStreamSynchronize", cuStreamSynchronize(stream));
       Must(page, "cuEventSynchronize", cuEventSynchronize(event));
       Use(event, stream);
       Must(page, "cuStreamSynchronize", cuStreamSynchronize(stream));
       Must(page, "cuEventDestroy", cuEventDestroy_v2(event));
       CUevent again = nullptr;
       const CUresult opened = cuIpcOpenEventHandle(&again, shared.event);
       if (opened != CUDA_ERROR_INVALID_HANDLE)
         GiveUp(page, fmt::format("an event of a process that is gone: {}", static_cast<int>(opened)));
     }},
    // Its first number and the first behind its maker's end share a word.
    {"records_late_what_its_maker_has_left", true,
     [](AttackPage& page, SharedWithAttacker& shared) {
       const CUevent event = Opened(page, shared), as_others_have_it = Opened(page, shared);
       const CUstream late = StreamOf(page), early = StreamOf(page);
       static std::atomic<bool> gate{false};
       Must(page, "cuLaunchHostFunc", cuLaunchHostFunc(late, StayShut, &gate));
       for (int i = 0; i < 3; ++i) Must(page, "cuEventRecord", cuEventRecord(event, late));
       AskForTheMakersEnd(shared);
       for (int i = 0; i < 3; ++i) Must(page, "cuEventRecord", cuEventRecord(event, early));
       Must(page, "cuStreamSynchronize", cuStreamSynchronize(early));
       gate.store(true);
       Must(page, "cuStreamSynchronize", cuStreamSynchronize(late));
       Must(page, "cuEventSynchronize", cuEventSynchronize(as_others_have_it));
     }},
    {"captures_an_event_of_others", true,
     [](AttackPage& page, SharedWithAttacker& shared) {
       const CUevent event = Opened(page, shared);
       const CUstream stream = StreamOf(page);
       CUgraph graph = nullptr;
       CUgraphExec exec = nullptr;
       CUgraphNode node = nullptr;
       Must(page, "cuStreamBeginCapture", cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
       (void)cuStreamWaitEvent(stream, event, 0);
       (void)cuEventRecord(event, stream);
       (void)cuEventQuery(event);
       (void)cuStreamEndCapture(stream, &graph);
       if (graph != nullptr) (void)cuGraphDestroy(graph);
       Must(page, "cuGraphCreate", cuGraphCreate(&graph, 0));
       (void)cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event);
       (void)cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event);
       if (cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS) {
         for (int i = 0; i < 3; ++i) (void)cuGraphLaunch(exec, stream);
         AskForTheMakersEnd(shared);
         for (int i = 0; i < 3; ++i) (void)cuGraphLaunch(exec, stream);
         Must(page, "cuStreamSynchronize", cuStreamSynchronize(stream));
       }
     }},
    {"records_without_end", false,
     [](AttackPage& page, SharedWithAttacker& shared) {
       const CUevent event = Opened(page, shared);
       const CUstream stream = StreamOf(page);
       static std::atomic<bool> gate{false};
       Must(page, "cuLaunchHostFunc", cuLaunchHostFunc(stream, StayShut, &gate));
       std::thread opens([] {
         std::this_thread::sleep_for(100ms);
         gate.store(true);
       });
       for (int i = 0; i < 2000; ++i) Must(page, "cuEventRecord", cuEventRecord(event, stream));
       opens.join();
       Must(page, "cuEventSynchronize", cuEventSynchronize(event));
     }},
    {"dies_while_it_records", false,
     [](AttackPage& page, SharedWithAttacker& shared) {
       const CUevent event = Opened(page, shared);
       const CUstream stream = StreamOf(page);
       static std::atomic<bool> never{false};
       Must(page, "cuLaunchHostFunc", cuLaunchHostFunc(stream, StayShut, &never));
       for (int i = 0; i < 100; ++i) Must(page, "cuEventRecord", cuEventRecord(event, stream));
       shared.maker_is_to_wait.store(true);
       std::this_thread::sleep_for(50ms);
       _exit(0);
     }},
};

}  // namespace

std::span<const EventAttack> EventAttacks() { return kAttacks; }

void AttackEvents(const EventAttack& attack, AttackPage& page, SharedWithAttacker& shared) {
  Begin(page);
  attack.attack(page, shared);
  Compute(page);
}

// It waits, records and waits again, as soon as the attacker has gone, or before.
void MakeEvents(const EventAttack& attack, AttackPage& page, SharedWithAttacker& shared) {
  Begin(page);
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  Must(page, "cuEventCreate", cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  Must(page, "cuMemAlloc", cuMemAlloc_v2(&memory, kBytes));
  Must(page, "cuIpcGetEventHandle", cuIpcGetEventHandle(&shared.event, event));
  Must(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&shared.memory, memory));
  const CUstream stream = StreamOf(page);
  static std::atomic<bool> never{false};
  if (attack.is_behind_a_gate) Must(page, "cuLaunchHostFunc", cuLaunchHostFunc(stream, StayShut, &never));
  Must(page, "cuEventRecord", cuEventRecord(event, stream));
  page.launched.store(true);
  if (attack.is_behind_a_gate) {
    while (!shared.maker_is_to_end.load()) std::this_thread::sleep_for(1ms);
    _exit(0);
  }
  while (!shared.maker_is_to_wait.load()) std::this_thread::sleep_for(1ms);
  Must(page, "cuEventSynchronize", cuEventSynchronize(event));
  // More than there are words.
  for (int i = 0; i < 1200; ++i) Must(page, "cuEventRecord", cuEventRecord(event, stream));
  Must(page, "cuStreamWaitEvent", cuStreamWaitEvent(stream, event, 0));
  Must(page, "cuStreamSynchronize", cuStreamSynchronize(stream));
  Must(page, "cuEventSynchronize", cuEventSynchronize(event));
  Compute(page);
}

}  // namespace tutti::fault
