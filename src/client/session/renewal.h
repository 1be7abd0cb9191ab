// Re-attaching after the server has died.
//
// NVIDIA's client has to be restarted when its server is gone. Here it is enough that the program destroys its contexts
// (cudaDeviceReset, cuCtxDestroy, releasing the primary context), which are lost anyway: with the last one everything
// of the old session is gone, and the next context attaches again. Until then every call fails with 806. A client that
// was terminated (810) never re-attaches: that error is meant to last.
#pragma once

#include <mutex>

namespace tutti::client {

// Counts the active contexts; its lock guards that count and the session together.
class Renewal {
 public:
  static Renewal& Get();
  // Set by cuInit: the function that attaches again (client/process/attach_again.h).
  void Use(int (*attach_again)());

  // Called before a context becomes active. If the session has ended and no context is active, attaches again. Returns
  // 0, or the CUresult with which the context fails; then Ended must not be called for it.
  int Begin();
  void Ended();

 private:
  std::mutex mutex_;
  int (*attach_again_)() = nullptr;
  unsigned active_ = 0;
};

}  // namespace tutti::client
