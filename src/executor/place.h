// What one client has in an executor: a window, modules and streams in the vendor's context, a ring and a ledger, and a
// socket for requests. With `process` isolation there is one place, with `shared` there are several, which have nothing
// in common but the context.
//
// Two threads use it: one answers requests, the other takes the records of the ring, so a call of the driver holds up
// its own client alone, unless the driver makes others wait.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "executor/arrays.h"
#include "executor/context.h"
#include "executor/device.h"
#include "executor/fence.h"
#include "executor/modules.h"
#include "executor/protocol/request.h"
#include "executor/submitter.h"
#include "executor/text_capture.h"
#include "executor/window.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/socket.h"

namespace tutti::executor {

class Place {
 public:
  // What the executor has, for all of its places. Outlives them.
  struct Executor {
    const Vendor* vendor = nullptr;
    const Device* device = nullptr;
    Context* context = nullptr;
    TextCapture* texts = nullptr;
    FenceMemory* fence_memory = nullptr;
    Leftovers* leftovers = nullptr;
    const Zeros* zeros = nullptr;
  };
  // `message`: a kEnter. Fails if it is none.
  static Result<std::unique_ptr<Place>> Create(const Executor& executor, os::Message message);

  // On a thread of its own: until the server closes the socket. Then waits for what the driver has been given, and
  // gives everything back. Fails if something could not be: only the process's end does it then. A thread in which the
  // context cannot be made current ends the place.
  Status Run();

 private:
  Place(const Executor& executor, std::vector<os::Fd> files, os::Mapping exchange);
  bool MakeCurrent();
  void Serve();
  Status Close();
  void SayThatItIsOver();
  Status Do(const Request& request, os::Fd given, Answer* answer, os::Fd* file);
  Status OpenWindow(const Request& request, os::Fd host_file, uint64_t* base);
  // What changes the memory that the fence lets kernels use.
  Status Map(const Request& request, const os::Fd& given);
  Status Unmap(const Request& request);
  Status SetAccess(const Request& request);
  int file(PlaceFile which) const { return files_[static_cast<size_t>(which)].get(); }

  const Executor executor_;
  const std::vector<os::Fd> files_;  // closed last
  const os::Mapping mapping_;
  Exchange* const exchange_;
  Fence fence_;
  Modules modules_;
  Window window_;
  Arrays arrays_;
  Submitter submitter_;
};

}  // namespace tutti::executor
