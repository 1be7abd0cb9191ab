// Copies between the window and host memory, in stream order, executed by this process.
//
// The server cannot access host memory. Such a copy is therefore a host call (client/copy/host_calls.h) that a library
// thread answers with a memcpy: the caller continues at once, and the bytes are read and written in stream order, as by
// a GPU's copy engine. A copy waits for its stream alone, whatever host functions are running.
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
  // A submitted copy. Valid until it is done or dropped.
  using Handle = std::list<Copy>::iterator;

  static HostCopies& Get();

  // Submits a copy whose sides have been checked. OUT_OF_MEMORY if the library's thread cannot be started.
  int Submit(Stream& stream, const CopyRequest& request);
  // Waits until no submitted copy accesses the range, now or later, so the program may free it, even if the server has
  // died. Returns 0, or the error the session ended with.
  int Await(uint64_t address, uint64_t bytes);
  // Called by the host-call thread when the stream reaches the copy. It is dropped if the stream's work has failed.
  void Make(Handle copy, int status);

 private:
  // For Attachment::WindUp: drops the copies submitted for the device, and waits for the one in progress.
  void Abandon(uint32_t device);
  bool Touches(uint64_t address, uint64_t bytes) const;
  void Forbid(const Attachment& attachment, uint32_t device);

  std::mutex mutex_;
  std::condition_variable made_;
  std::list<Copy> copies_;
};

}  // namespace tutti::client
