#include "client/copy/host_copy.h"

#include <algorithm>
#include <chrono>

#include "client/context/context.h"
#include "client/copy/host_calls.h"
#include "client/session/attachment.h"

namespace tutti::client {
namespace {

constexpr std::chrono::milliseconds kCheckServer{100};

bool Overlaps(const CopySide& side, const CopyShape& shape, uint64_t address, uint64_t bytes) {
  const uint64_t extent = Extent(side, shape);
  return side.address >= address ? side.address - address < bytes : address - side.address < extent;
}

bool IsOn(const HostCopies::Copy& copy, uint32_t device) {
  return device == Attachment::kEveryDevice || copy.device == device;
}

}  // namespace

HostCopies& HostCopies::Get() {
  static auto* const instance = [] {
    auto* const made = new HostCopies;
    Attachment::OnWindUp(Attachment::OwnWork::kHostCopies, [](uint32_t device) { Get().Abandon(device); });
    return made;
  }();
  return *instance;
}

int HostCopies::Submit(Stream& stream, const CopyRequest& request) {
  Handle copy;
  {
    std::lock_guard lock(mutex_);
    copy = copies_.insert(
        copies_.end(),
        {.request = request, .attachment = &Attachment::Get(), .device = stream.context().device().index()});
  }
  const int status = SubmitHostCopy(stream, copy);
  if (status == 0) return status;
  std::lock_guard lock(mutex_);
  copies_.erase(copy);
  return status;
}

// A copy in progress when the server dies is waited for like any other, since it needs no server.
int HostCopies::Await(uint64_t address, uint64_t bytes) {
  Attachment& attachment = Attachment::Get();
  std::unique_lock lock(mutex_);
  while (Touches(address, bytes)) {
    if (attachment.ended() != 0) Forbid(attachment, Attachment::kEveryDevice);
    if (made_.wait_for(lock, kCheckServer, [&] { return !Touches(address, bytes); })) break;
    attachment.connection().watch().Check();
  }
  return attachment.ended();
}

void HostCopies::Make(Handle copy, int status) {
  {
    std::lock_guard lock(mutex_);
    if (copy->state == State::kAbandoned) {
      copies_.erase(copy);
      return;
    }
    copy->state = State::kMaking;
  }
  if (status == 0) CopyHere(copy->request);
  std::lock_guard lock(mutex_);
  copies_.erase(copy);
  made_.notify_all();
}

void HostCopies::Abandon(uint32_t device) {
  const Attachment& attachment = Attachment::Get();
  std::unique_lock lock(mutex_);
  Forbid(attachment, device);
  made_.wait(lock, [&] {
    return std::ranges::none_of(copies_,
                                [&](const Copy& copy) { return copy.state == State::kMaking && IsOn(copy, device); });
  });
}

void HostCopies::Forbid(const Attachment& attachment, uint32_t device) {
  for (Copy& copy : copies_) {
    if (copy.attachment == &attachment && IsOn(copy, device) && copy.state == State::kWaiting)
      copy.state = State::kAbandoned;
  }
}

bool HostCopies::Touches(uint64_t address, uint64_t bytes) const {
  return std::ranges::any_of(copies_, [&](const Copy& copy) {
    const CopyRequest& r = copy.request;
    return copy.state != State::kAbandoned &&
           (Overlaps(r.source, r.shape, address, bytes) || Overlaps(r.destination, r.shape, address, bytes));
  });
}

}  // namespace tutti::client
