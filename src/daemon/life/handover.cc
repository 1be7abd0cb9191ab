#include "daemon/life/handover.h"

#include "base/clock.h"
#include "base/log.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kPatienceNs = 35'000'000'000;  // longer than a server may take to start
constexpr uint64_t kPauseNs = 10'000'000;

}  // namespace

void Handover::Begin() {
  if (deadline_ns_ != 0) return;
  deadline_ns_ = NowNs() + kPatienceNs;
  log::Info("Upgrading to the program that is installed now");
  Try();
}

void Handover::Try() {
  const bool late = NowNs() >= deadline_ns_;
  const bool quiet = daemon_.quiet();
  if (late && !quiet) log::Warning("Commands never paused: those without an answer by now are lost");
  if (late || quiet) return GiveUp(Succeed(daemon_.leave()).text);
  loop_.After(kPauseNs, [this] { Try(); });
}

void Handover::GiveUp(const std::string& why) {
  deadline_ns_ = 0;
  log::Error("The upgrade failed, this program continues: {}", why);
  daemon_.gave_up();
}

}  // namespace tutti::daemon
