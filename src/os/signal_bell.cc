#include "os/signal_bell.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace tutti::os {
namespace {

int bell = -1;  // the write end; never closed, since a handler may still run

void Ring(int number) {
  const int saved = errno;
  const auto byte = static_cast<uint8_t>(number);
  [[maybe_unused]] const ssize_t written = write(bell, &byte, 1);
  errno = saved;
}

}  // namespace

Result<SignalBell> SignalBell::Create(std::initializer_list<int> signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return FailErrno("pipe");
  Fd out(ends[0]);
  if (const int old = std::exchange(bell, ends[1]); old >= 0) close(old);
  struct sigaction action{};
  action.sa_handler = &Ring;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int number : signals) {
    if (sigaction(number, &action, nullptr) != 0) return FailErrno("sigaction");
  }
  return SignalBell(std::move(out));
}

int SignalBell::Next() {
  uint8_t number = 0;
  return read(out_.get(), &number, 1) == 1 ? number : 0;
}

}  // namespace tutti::os
