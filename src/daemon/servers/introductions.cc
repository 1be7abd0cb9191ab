#include "daemon/servers/introductions.h"

#include <fcntl.h>

#include <utility>

#include "base/log.h"
#include "os/memory.h"
#include "wire/server_page.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kPatienceNs = 100'000'000;

os::Fd Copy(const os::Fd& file) { return os::Fd(fcntl(file.get(), F_DUPFD_CLOEXEC, 0)); }

}  // namespace

Introductions::~Introductions() {
  for (const auto& [pid, known] : known_) loop_.Cancel(known.timer);
}

void Introductions::Introduce(ServerHandle& server, std::function<void()> done) {
  const pid_t pid = server.pid();
  Known& known = known_[pid];
  loop_.Cancel(known.timer);
  known = {.server = &server, .page = {}, .awaited = {}, .done = std::move(done), .number = ++introductions_};
  auto page = os::CreateMemoryForWriter("tutti-server-page", sizeof(wire::ServerPage));
  os::Fd copy = page ? Copy(*page) : os::Fd();
  if (!copy) {
    log::Warning("Server {} counts the memory of its own clients alone: no page can be made for it", pid);
    return FinishAfter(pid, 0);
  }
  known.page = std::move(*page);
  server.Introduce(
      {.what = wire::PeerKind::kOwn}, std::move(copy), [this, pid, number = known.number](const auto& reply) {
        const auto found = known_.find(pid);
        if (found == known_.end() || found->second.number != number) return;
        if (reply && reply->body.status == 0 && os::SealForReaders(found->second.page)) return Mapped(pid);
        log::Warning("Server {} is not counted by the others: {}", pid, reply ? reply->body.text : reply.error().text);
        found->second.page.Reset();
        FinishAfter(pid, 0);
      });
  FinishAfter(pid, kPatienceNs);
}

void Introductions::Mapped(pid_t pid) {
  Known& newcomer = known_[pid];
  for (auto& [other, known] : known_) {
    if (other == pid || !known.page || !known.server->connected()) continue;
    Tell(*newcomer.server, known);
    newcomer.awaited.insert(other);
    Tell(*known.server, newcomer);
  }
  if (newcomer.awaited.empty()) Settle(pid);
}

// All others have answered, or have ended.
void Introductions::Settle(pid_t pid) {
  const Known& known = known_[pid];
  if (known.page && known.known_to_all && known.server->connected())
    known.server->Ask(wire::MessageKind::kServerPeer, wire::ServerPeer{.what = wire::PeerKind::kSettled},
                      [](const auto&) {});
  FinishAfter(pid, 0);
}

void Introductions::Tell(ServerHandle& listener, const Known& other) {
  const pid_t of = other.server->pid(), by = listener.pid();
  os::Fd page = Copy(other.page);
  if (!page) return log::Warning("Server {} does not count the memory of server {}: no descriptor is left", by, of);
  listener.Introduce({.what = wire::PeerKind::kOther, .server = static_cast<uint32_t>(of)}, std::move(page),
                     [this, of, by](const auto& reply) { Confirmed(of, by, reply && reply->body.status == 0); });
}

void Introductions::Confirmed(pid_t pid, pid_t by, bool knows) {
  const auto found = known_.find(pid);
  if (found == known_.end() || found->second.awaited.erase(by) == 0) return;
  found->second.known_to_all &= knows;
  if (found->second.awaited.empty()) Settle(pid);
}

// In place of an earlier end. Not at once: who calls may be in the middle of the server's end.
void Introductions::FinishAfter(pid_t pid, uint64_t delay_ns) {
  Known& known = known_[pid];
  if (!known.done) return;
  loop_.Cancel(known.timer);
  known.timer = loop_.After(delay_ns, [this, pid] {
    Known& introduced = known_[pid];
    introduced.timer = 0;
    introduced.server->SetIntroduced();
    if (const auto done = std::exchange(introduced.done, nullptr)) done();
  });
}

void Introductions::Forget(pid_t pid) {
  auto gone = known_.extract(pid);
  if (gone.empty()) return;
  loop_.Cancel(gone.mapped().timer);
  for (auto& [other, known] : known_) {
    if (gone.mapped().page && known.page && known.server->connected())
      known.server->Ask(wire::MessageKind::kServerPeer,
                        wire::ServerPeer{.what = wire::PeerKind::kGone, .server = static_cast<uint32_t>(pid)},
                        [](const auto&) {});
    if (known.awaited.erase(pid) == 1 && known.awaited.empty()) Settle(other);
  }
}

}  // namespace tutti::daemon
