// A further process of a step: this program again, in a role of the step's probe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frame/channel.h"

namespace tutti::gpu {

class Peer {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  // `role` is one of the probe's (frame/probe.h). Ends this process if it cannot be started.
  Peer(std::string role, const std::string& argument = "", const Environment& environment = {});
  // Another program, which finds its end of the channel as descriptor 3.
  static Peer OfProgram(std::string name, std::vector<std::string> arguments, const Environment& environment = {});
  Peer(Peer&&) = default;

  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  Heard Expect(std::string_view word, double seconds = 20) { return channel_.Expect(word, role_, seconds); }
  Heard Ask(std::string_view word, std::string_view answer, double seconds = 20) {
    channel_.Say(word);
    return Expect(answer, seconds);
  }
  // kill -9; returns when the process is gone, false if it does not go.
  bool Kill();
  // After the last word: closes the channel and waits until the process has ended, by force if it must be. Whether it
  // ended with status 0.
  bool Finish(double seconds = 10);

 private:
  Peer(std::string name, std::vector<std::string> arguments, const Environment& environment,
       std::pair<os::Fd, os::Fd> sockets);

  std::string role_;
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace tutti::gpu
