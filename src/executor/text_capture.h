// What kernels print. The vendor's driver writes it to the standard output and error of its process, which is this one:
// memory files in their place catch it, and it goes on to the server (executor/protocol/exchange.h).
//
// Nothing says which kernel has printed what. Where an executor has several clients, what has come goes to the one for
// which it is handed on: one of those whose kernels print, and have just been waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "executor/protocol/exchange.h"
#include "os/fd.h"

namespace tutti::executor {

// Puts all of it there. Waits where the server has not taken what it was given: `wake` wakes it, and says whether it
// may still come to take it.
void PutText(std::span<const char> text, TextRing* ring, const std::function<bool()>& wake);

// Thread-safe.
class TextCapture {
 public:
  static Result<TextCapture> Start();

  // The standard error that there was: for messages to the server's log.
  int messages() const { return messages_.get(); }
  // Hands on what has come. Waits as PutText does, and holds up no others meanwhile. One thread at a time for each
  // exchange.
  void HandOn(Exchange* exchange, const std::function<bool()>& wake);

 private:
  struct Caught {
    os::Fd file;
    uint64_t taken = 0;  // bytes
  };
  TextCapture(os::Fd messages, os::Fd output, os::Fd error)
      : messages_(std::move(messages)), output_{std::move(output)}, error_{std::move(error)} {}
  static std::vector<char> Take(Caught* caught);

  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  os::Fd messages_;
  Caught output_, error_;
};

}  // namespace tutti::executor
