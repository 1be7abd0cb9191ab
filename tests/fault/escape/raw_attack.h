// Attacks without the client library: by whatever a process can write into its channel, its window, and its sockets.
#pragma once

#include <cstdint>
#include <span>

#include "ipc/client_connection.h"
#include "stage.h"

namespace tutti::fault {

// How an attack must end for the attacker.
enum class End {
  kSession,  // the server has ended the session
  kFault,    // CUDA_ERROR_ILLEGAL_ADDRESS, and the session goes on
  kRefused,  // an error in the answer, or a message of refusal; the session goes on
  kNothing,  // nothing: the attacker can still work
};

// An attached client that has a stream (1) on device 0.
class Attacker {
 public:
  explicit Attacker(std::unique_ptr<ipc::ClientConnection> connection, const Targets& targets);

  ipc::ClientConnection& connection() { return *connection_; }
  wire::Channel& channel() { return connection_->channel(); }
  const Targets& targets() const { return targets_; }
  uint64_t window() const { return connection_->window_base(); }

  template <typename Body>
  uint64_t Submit(wire::RecordKind kind, const Body& body, uint32_t stream = 1) {
    return connection_->producer().Submit(kind, stream, body, {}, ipc::WaitHint::kNow);
  }
  uint64_t Mark() { return connection_->producer().Submit(wire::RecordKind::kMarker, 1, ipc::WaitHint::kNow); }
  // Memory of its own. It reaches all but kDevice.
  uint64_t Allocate(uint64_t bytes, wire::MemoryKind kind = wire::MemoryKind::kDevice);
  // A module from this text; 0 if it is refused.
  uint32_t Load(const char* ptx, uint32_t* kernel = nullptr);
  // Sends bytes as they are on the session's socket.
  int socket() const;

  // Waits until all that it has submitted is done.
  void Settle() { (void)connection_->waiter().Wait(1, Mark()); }
  // The attacker's state after everything it has submitted and, if its session should end, after that: different
  // threads read messages and records.
  End Outcome(End expected);
  bool refused = false;  // set by an attack that got a refusal

 private:
  std::unique_ptr<ipc::ClientConnection> connection_;
  Targets targets_;
};

struct RawAttack {
  const char* name;
  End end;
  void (*attack)(Attacker& attacker);
};

std::span<const RawAttack> RecordAttacks();   // records that are well-formed but not the attacker's right
std::span<const RawAttack> ArrayAttacks();    // of arrays and textures that the device makes
std::span<const RawAttack> GraphAttacks();    // of graphs that kernels launch
std::span<const RawAttack> MemoryAttacks();   // on the shared memory itself, and by timing
std::span<const RawAttack> SocketAttacks();   // messages, descriptors, images

}  // namespace tutti::fault
