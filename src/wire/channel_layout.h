// The channel: one memory file per client process, mapped by the client and its server. It holds the ring and
// everything the client needs to know to answer a call without asking: completion, errors, memory in use, device
// properties.
//
// The client writes tail, the ring slots, the sleeper counts and the consumed cursors of the print and host-call
// queues; the server writes everything else. The server never reads back what it wrote, so a client that overwrites the
// channel misleads only itself. The file is sparse: untouched pages cost nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/device_traits.h"
#include "wire/limits.h"
#include "wire/ring_layout.h"
#include "wire/window_shape.h"

namespace tutti::wire {

inline constexpr uint32_t kChannelMagic = 0x49545554;  // "TUTI"

// What a client must do after publishing a record. Before it stops polling, the server raises the state and then polls
// once more; the client publishes, then reads the state. All four accesses are seq_cst, so at least one side sees the
// other's write: no wake-up is lost.
//
// The doorbell is an eventfd. A producer that wants to ring first swaps kWatched in and writes the eventfd only if it
// swapped out kLingering or kArmed, so one sleeper costs one wake-up. A caller about to sleep for a completion or a
// reply checks the state again (RingProducer::Nudge), since its record may have been published without a ring. As a
// backstop all sleeps have a timeout, and a sleeper that timed out rings unconditionally.
enum class Doorbell : uint32_t {
  kWatched = 0,  // a thread polls this ring: do not ring
  kLingering = 1,  // polled again within milliseconds: ring only if the caller is going to wait
  kArmed = 2,  // nobody polls: ring
};

// One stream's sleepers. A client that wants to sleep reads `wake`, lowers `awaited` to what it waits for, re-checks
// the stream's completion word, and waits on `wake`; the server stores the completion word, and if that is what is
// awaited or more it clears `awaited`, increments `wake` and wakes the futex (seq_cst on both sides). So a sleeper
// costs one wake-up, however many records finish before its own. A thread that is woken but waits for a later record
// registers again.
struct alignas(64) StreamSleepers {
  std::atomic<uint64_t> awaited;  // the least completion word that a sleeper waits for; 0: nobody sleeps
  std::atomic<uint32_t> wake;  // futex

  // Called after storing the completion word. Returns whether sleepers must be woken.
  bool TakeSleepers(uint64_t now_completed) {
    const uint64_t least = awaited.load(std::memory_order_seq_cst);
    if (least == 0 || now_completed < least) return false;
    awaited.store(0, std::memory_order_seq_cst);
    wake.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  void Await(uint64_t wanted) {
    uint64_t least = awaited.load(std::memory_order_seq_cst);
    while ((least == 0 || wanted < least) && !awaited.compare_exchange_weak(least, wanted, std::memory_order_seq_cst)) {
    }
  }
};
static_assert(sizeof(StreamSleepers) == 64);

// In a memory file of its own, which the server, or its device, writes and clients can only read
// (os::CreateReadableMemory): so what is done can be read there by whoever must not believe a client.
struct Completions {
  struct alignas(64) Word {
    std::atomic<uint64_t> completed;  // ticket + 1 of the last finished record of this stream
  };
  Word streams[kMaxStreams];
  alignas(4096) std::atomic<uint64_t> event_ns[kMaxEvents];  // NowNs() at which the event was reached
};

// kFree -> kPending by the client before it publishes the record; -> kPendingAsleep by a client that sleeps on `state`;
// -> kDone by the server, with an exchange that shows whether to wake; -> kFree by the client when it has read the
// reply.
enum class ReplyState : uint32_t { kFree = 0, kPending = 1, kPendingAsleep = 2, kDone = 3 };

struct alignas(64) ReplySlot {
  std::atomic<uint32_t> state;  // futex; ReplyState
  int32_t status;  // a CUresult
  uint64_t value[4];
};
static_assert(sizeof(ReplySlot) == 64);

// Functions the client must run for its streams (cuLaunchHostFunc, callbacks): the server produces, the client's
// host-call thread consumes.
struct HostCall {
  uint64_t token;
  uint32_t stream;
  int32_t status;  // CUDA_SUCCESS, or the context's error: then a callback is still called, a host function is not
};
struct HostCallQueue {
  alignas(64) std::atomic<uint32_t> produced;  // futex
  alignas(64) std::atomic<uint32_t> consumed;
  HostCall calls[kHostCallSlots];
};

// A byte FIFO of text that kernels printed, already formatted. The client drains it in its synchronising calls.
template <uint32_t kBytes>
struct TextFifo {
  alignas(64) std::atomic<uint64_t> produced;  // bytes ever written
  alignas(64) std::atomic<uint64_t> consumed;
  std::atomic<uint64_t> dropped;  // texts lost because the FIFO was full
  uint8_t bytes[kBytes];
};
using PrintFifo = TextFifo<kPrintBytes>;  // printf: for the client's stdout
using AssertFifo = TextFifo<kAssertTextBytes>;  // failed assertions: for its stderr

struct DeviceInfo {
  char name[128];
  uint8_t uuid[16];
  uint64_t total_bytes;
  uint32_t traits;  // DeviceTraits
  uint32_t sm_group;  // green contexts and partitions get SMs in multiples of this; at least 1
  int32_t most_urgent;  // stream priorities: from 0 down to this
  int32_t attributes[kDeviceAttributes];  // by CUdevice_attribute
};

// Per device, live.
struct alignas(64) DeviceState {
  std::atomic<uint64_t> used_bytes;  // by all clients
  std::atomic<uint64_t> client_bytes;  // by this client
  std::atomic<uint64_t> limit_bytes;  // this client's limit; ~0: none
  std::atomic<int32_t> error;  // sticky CUresult of this client's work on the device, 0: none
  std::atomic<int32_t> sm_count;  // that this client may use
  std::atomic<uint64_t> freed_bytes;  // of client_bytes: freed by the client, in use until earlier work is done
};

struct ChannelHeader {
  uint32_t magic;
  uint32_t protocol_version;
  uint32_t device_count;
  uint32_t client_id;  // the server's number for this client (ID column of `ps`)
  uint64_t window_base;
  WindowShape window;
  uint32_t server_pid;
  uint32_t shared_server;  // 1: reached through a daemon (CU_DEVICE_ATTRIBUTE_MPS_ENABLED); 0: a private server
  std::atomic<uint32_t> ended;  // a CUresult once the server has ended this session (terminated, protocol error)
  alignas(64) std::atomic<uint64_t> tail;  // producers: next free position
  alignas(64) std::atomic<uint64_t> head;  // consumer: positions below are free again
  std::atomic<uint32_t> space_sleepers;  // producers asleep because the ring is full
  std::atomic<uint32_t> space_wake;  // futex
  alignas(64) std::atomic<uint32_t> doorbell;  // Doorbell
  DeviceState states[kMaxDevices];
  DeviceInfo devices[kMaxDevices];  // one without a UUID is withheld from this client
};

struct Channel {
  ChannelHeader header;
  alignas(4096) Slot ring[kRingSlots];
  alignas(4096) ReplySlot replies[kReplySlots];
  alignas(4096) HostCallQueue host_calls;
  alignas(4096) StreamSleepers sleepers[kMaxStreams];
  alignas(4096) PrintFifo print;
  alignas(4096) AssertFifo asserts;
};

}  // namespace tutti::wire
