// Copies between the window and host memory that come when their stream gets to them, made by this process.
//
// The server cannot read host memory. So such a copy is a host call (client/copy/host_calls.h), which the library's own
// thread answers with a memcpy: the caller goes on at once, and the bytes are read and written in stream order, as by
// the copy engine of a GPU. A copy waits for nothing but its stream, whatever functions of the program are running.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

#include "client/context/stream.h"
#include "client/copy/copy.h"
#include "client/session/attachment.h"

namespace tutti::client {

// Thread-safe.
class HostCopies {
 public:
  enum class State : uint8_t { kWaiting, kMaking, kAbandoned };
  struct Copy {
    CopyRequest request;
    const Attachment* attachment;
    uint32_t device;  // of its stream; the server's number
    State state = State::kWaiting;
  };
  // One that was submitted. Stays valid until it is made.
  using Handle = std::list<Copy>::iterator;

  static HostCopies& Get();

  // Both sides have been checked. OUT_OF_MEMORY if the library's thread cannot be started.
  int Submit(Stream& stream, const CopyRequest& request);
  // Waits until no submitted copy touches the range, nor will: the program may free it, whatever has become of the
  // server. 0, or what the session ended with.
  int Await(uint64_t address, uint64_t bytes);
  // By the thread that answers host calls: the stream is there. It is not made if the stream's work has failed.
  void Make(Handle copy, int status);

 private:
  // Attachment::WindUp: what was submitted for the device is not made any more, and when this returns nothing is being
  // made.
  void Abandon(uint32_t device);
  bool Touches(uint64_t address, uint64_t bytes) const;
  void Forbid(const Attachment& attachment, uint32_t device);

  std::mutex mutex_;
  std::condition_variable made_;
  std::list<Copy> copies_;
};

}  // namespace tutti::client
