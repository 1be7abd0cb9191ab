// The process's connection to its server (ipc/client_connection.h).
//
// Created by the first successful cuInit and never destroyed: exit ends it. If the server dies, every call fails until
// the program has destroyed all its contexts; the next context gets a new one (client/session/renewal.h). The old one
// is kept, for threads that are still inside a call. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "client/session/foreign_memory.h"
#include "ipc/client_connection.h"

namespace tutti::client {

class Attachment {
 public:
  // Only after cuInit has succeeded.
  static Attachment& Get() { return *instance_.load(std::memory_order_acquire); }
  static bool installed() { return instance_.load(std::memory_order_acquire) != nullptr; }
  // Makes the connection the current one, in place of an earlier one, and keeps it for the rest of the process's life.
  static void Install(std::unique_ptr<ipc::ClientConnection> connection);
  // Called in a forked child.
  static void AbandonInChild();

  ipc::ClientConnection& connection() { return *connection_; }
  wire::Channel& channel() { return connection_->channel(); }
  const wire::ChannelHeader& header() const { return connection_->header(); }
  ipc::RingProducer& ring() { return connection_->producer(); }
  ipc::CompletionWaiter& waiter() { return connection_->waiter(); }
  ipc::ReplySlots& replies() { return connection_->replies(); }
  // The CUresult the session has ended with, 0 while it lives.
  int ended() { return connection_->watch().ended(); }
  // Called when the session has ended, or its work on one device (the server's number) has failed, before the program
  // learns of it: cancels this process's own part of that work (OwnWork), and waits for what is in progress. The
  // program may then free what that work reads and writes.
  static void WindUp(uint32_t device = kEveryDevice) {
    for (const auto& give_up : give_up_) {
      if (const GiveUp cancel = give_up.load(std::memory_order_acquire)) cancel(device);
    }
  }
  static constexpr uint32_t kEveryDevice = ~0u;
  // Work that this process does itself: client/copy/host_copy.h, client/copy/value_waits.h.
  enum class OwnWork : uint8_t { kHostCopies, kValueWaits };
  // Set by the code that does such work, before its first.
  using GiveUp = void (*)(uint32_t device);
  static void OnWindUp(OwnWork work, GiveUp give_up) {
    give_up_[static_cast<size_t>(work)].store(give_up, std::memory_order_release);
  }

  // Whether [address, address + bytes) lies in the device window.
  bool InWindow(uint64_t address, uint64_t bytes = 1) const {
    return bytes <= window_bytes_ && address - window_base_ <= window_bytes_ - bytes;
  }
  // Whether the address is the device's, in the window or outside of it.
  bool OnDevice(uint64_t address) const { return InWindow(address) || ForeignMemory::Holds(address); }
  // Whether this process may read and write these bytes itself: all but the window's reserved part, the device's where
  // the device does not share it (wire/window_shape.h), and what the device has elsewhere. The range does not overflow.
  bool Reaches(uint64_t address, uint64_t bytes) const {
    return (address + bytes <= unreached_begin_ || address >= unreached_end_) && !ForeignMemory::Holds(address);
  }

 private:
  Attachment(std::unique_ptr<ipc::ClientConnection> connection, Attachment* earlier);
  inline static constinit std::atomic<Attachment*> instance_{nullptr};
  inline static constinit std::array<std::atomic<GiveUp>, 2> give_up_{};

  Attachment* const earlier_;  // kept for ever: a thread may still use it
  std::unique_ptr<ipc::ClientConnection> connection_;
  // The client's own copies, since the server writes the header.
  const uint64_t window_base_;
  const uint64_t window_bytes_;
  const uint64_t unreached_begin_;
  const uint64_t unreached_end_;
};

}  // namespace tutti::client
