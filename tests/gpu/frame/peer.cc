#include "frame/peer.h"

#include <signal.h>

#include "frame/process.h"
#include "frame/record.h"
#include "frame/settings.h"

namespace tutti::gpu {

Peer::Peer(std::string role, const std::string& argument, const Environment& environment)
    : Peer(role, {OwnPath(), "--peer", role, argument}, environment, Channel::Pair()) {}

Peer Peer::OfProgram(std::string name, std::vector<std::string> arguments, const Environment& environment) {
  return Peer(std::move(name), std::move(arguments), environment, Channel::Pair());
}

Peer::Peer(std::string name, std::vector<std::string> arguments, const Environment& environment,
           std::pair<os::Fd, os::Fd> sockets)
    : role_(std::move(name)), channel_(std::move(sockets.first)) {
  pid_ = StartProcess(
      {.arguments = std::move(arguments),
       .environment = environment,
       .files = {{sockets.second.get(), kChannelFd}, {kResultsFd, kResultsFd}, {kProgressFd, kProgressFd}}});
  if (pid_ < 0) GiveUp(Outcome::kFailed, "no process could be started");
}

bool Peer::Kill() {
  kill(pid_, SIGKILL);
  return WaitFor(pid_, 5).ended;
}

bool Peer::Finish(double seconds) {
  channel_ = Channel(os::Fd());
  const Ending ending = WaitFor(pid_, seconds);
  if (!ending.ended) Kill();
  return ending.ended && ending.status == 0;
}

}  // namespace tutti::gpu
