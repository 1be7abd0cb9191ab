// A new session in the place of one whose server has died.
//
// NVIDIA's client has to be started again when its server is gone. Here it is enough that the program ends its contexts
// (cudaDeviceReset, cuCtxDestroy, releasing the primary context), which are lost anyway: with the last of them
// everything that belongs to the old session is gone, and the next context attaches anew. Until then every call fails
// with 806, and so does one with a client that was terminated (810): that is meant to last.
#pragma once

#include <mutex>

namespace tutti::client {

// How many contexts are active, and the lock under which that number and the session change together.
class Renewal {
 public:
  static Renewal& Get();
  // How one attaches again (client/process/attach_again.h): by cuInit.
  void Use(int (*attach_again)());

  // A context is about to become active. If the session has ended and this is the first one, attaches again. 0, or the
  // CUresult that the context fails with; then Ended must not be called for it.
  int Begin();
  void Ended();

 private:
  std::mutex mutex_;
  int (*attach_again_)() = nullptr;
  unsigned active_ = 0;
};

}  // namespace tutti::client
