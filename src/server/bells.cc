#include "server/bells.h"

#include <poll.h>

namespace tutti::server {

Result<Bells> Bells::Create() {
  TUTTI_ASSIGN(os::Epoll epoll, os::Epoll::Create());
  os::Fd kick(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!kick) return FailErrno("eventfd");
  TUTTI_TRY(epoll.Add(kick.get(), EPOLLIN | EPOLLET, kKickKey));
  return Bells(std::move(epoll), std::move(kick));
}

// Edge-triggered: nobody has to read the eventfd; if a client fills its counter, the edge has long been reported.
Status Bells::Add(int doorbell_fd, uint32_t number) { return epoll_.Add(doorbell_fd, EPOLLIN | EPOLLET, number); }

void Bells::Remove(int doorbell_fd) { epoll_.Remove(doorbell_fd); }

bool Bells::Sleep(uint64_t timeout_ns) {
  pollfd bells{epoll_.fd(), POLLIN, 0};
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000u),
                         static_cast<long>(timeout_ns % 1'000'000'000u)};
  return ppoll(&bells, 1, &timeout, nullptr) > 0;
}

}  // namespace tutti::server
