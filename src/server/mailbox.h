// Work that other threads post to the main thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::server {

// Thread-safe; RunAll on the main thread only.
class Mailbox {
 public:
  static Result<std::unique_ptr<Mailbox>> Create();

  void Post(std::function<void()> work);
  // Readable while there is work.
  int fd() const { return bell_.get(); }
  void RunAll();

 private:
  explicit Mailbox(os::Fd bell) : bell_(std::move(bell)) {}

  os::Fd bell_;
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
};

}  // namespace tutti::server
