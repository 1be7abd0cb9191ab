#include "client/host_copy.h"

#include <algorithm>
#include <chrono>

#include "client/host_calls.h"
#include "client/session.h"

namespace tutti::client {
namespace {

constexpr std::chrono::milliseconds kCheckServer{100};

bool Overlaps(const CopySide& side, const CopyShape& shape, uint64_t address, uint64_t bytes) {
  const uint64_t extent = Extent(side, shape);
  return side.address >= address ? side.address - address < bytes : address - side.address < extent;
}

}  // namespace

HostCopies& HostCopies::Get() {
  static auto* const instance = new HostCopies;
  return *instance;
}

int HostCopies::Submit(Stream& stream, const CopyRequest& request) {
  Handle copy;
  {
    std::lock_guard lock(mutex_);
    copy = waiting_.insert(waiting_.end(), {request});
  }
  const int status = SubmitHostCopy(stream, copy);
  if (status == 0) return status;
  std::lock_guard lock(mutex_);
  waiting_.erase(copy);
  return status;
}

int HostCopies::Await(uint64_t address, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  while (Touches(address, bytes)) {
    if (made_.wait_for(lock, kCheckServer) == std::cv_status::no_timeout) continue;
    if (const int ended = Session::Get().connection().watch().Check(); ended != 0) return ended;
  }
  return cuda::CUDA_SUCCESS;
}

void HostCopies::Make(Handle copy, int status) {
  {
    std::lock_guard lock(mutex_);
    if (copy->abandoned) return;
    ++making_;
  }
  if (status == 0) CopyHere(copy->request);
  std::lock_guard lock(mutex_);
  waiting_.erase(copy);
  --making_;
  made_.notify_all();
}

void HostCopies::Abandon() {
  std::unique_lock lock(mutex_);
  for (Copy& copy : waiting_) copy.abandoned = true;
  made_.wait(lock, [this] { return making_ == 0; });
}

bool HostCopies::Touches(uint64_t address, uint64_t bytes) const {
  return std::ranges::any_of(waiting_, [&](const Copy& copy) {
    const CopyRequest& r = copy.request;
    return !copy.abandoned &&
           (Overlaps(r.source, r.shape, address, bytes) || Overlaps(r.destination, r.shape, address, bytes));
  });
}

}  // namespace tutti::client
