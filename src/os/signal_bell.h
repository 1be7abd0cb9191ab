// Signals as a descriptor for an event loop. A signalfd would be simpler, but every signal sent within the process
// wakes its waiter, and a server sends its threads thousands per second.
//
// The handler runs on any thread, on its alternate stack if it has one, and nothing interrupts it there.
#pragma once

#include <initializer_list>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// One per process at a time. Main thread only.
class SignalBell {
 public:
  static Result<SignalBell> Create(std::initializer_list<int> signals);

  // Readable while there are signals.
  int fd() const { return out_.get(); }
  // The next signal, or 0. Never blocks.
  int Next();

 private:
  explicit SignalBell(Fd out) : out_(std::move(out)) {}
  Fd out_;
};

}  // namespace tutti::os
