#include "daemon/life/shutdown.h"

#include <utility>

#include "base/log.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kPatienceNs = 30'000'000'000;  // for a server that was told to end at once, and is killed soon after

}  // namespace

void Shutdown::Begin(std::optional<uint32_t> timeout_s, Done done) {
  done_.push_back(std::move(done));
  if (!begun_) {
    begun_ = true;
    broker_.Close();
    servers_.Close();
    for (ServerHandle* server : servers_.All()) server->Shutdown(false);
  }
  if (timeout_s) loop_.After(*timeout_s * 1'000'000'000ull, [this] { Force(); });
  FinishIfEmpty();
}

void Shutdown::ServerExited(int status) {
  if (!begun_) return;
  if (status != 0) exit_status_ = 1;
  FinishIfEmpty();
}

void Shutdown::Force() {
  for (ServerHandle* server : servers_.All()) server->Shutdown(true);
  loop_.After(kPatienceNs, [this] { LeaveBehind(); });
}

void Shutdown::LeaveBehind() {
  for (const ServerHandle* server : servers_.All())
    log::Warning("Server {} does not end, not even killed: the daemon leaves it behind", server->pid());
  exit_status_ = 1;
  Finish();
}

void Shutdown::FinishIfEmpty() {
  if (servers_.All().empty()) Finish();
}

void Shutdown::Finish() {
  for (const Done& done : std::exchange(done_, {})) done(exit_status_);
}

}  // namespace tutti::daemon
