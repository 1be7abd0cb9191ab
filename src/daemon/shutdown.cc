#include "daemon/shutdown.h"

#include <utility>

namespace tutti::daemon {

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
}

void Shutdown::FinishIfEmpty() {
  if (!servers_.All().empty()) return;
  for (const Done& done : std::exchange(done_, {})) done(exit_status_);
}

}  // namespace tutti::daemon
