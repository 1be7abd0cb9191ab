#include "server/mailbox.h"

#include <sys/eventfd.h>

namespace tutti::server {

Result<std::unique_ptr<Mailbox>> Mailbox::Create() {
  os::Fd bell(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!bell) return FailErrno("eventfd");
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(bell)));
}

void Mailbox::Post(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (work_.size() == 1) eventfd_write(bell_.get(), 1);
}

void Mailbox::RunAll() {
  eventfd_t count;
  eventfd_read(bell_.get(), &count);
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    work.swap(work_);
  }
  for (auto& piece : work) piece();
}

}  // namespace tutti::server
