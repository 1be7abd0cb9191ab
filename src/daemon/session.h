// One accepted connection. Its first message decides what it is: a CUDA client, which is passed on, or a shell, whose
// commands are run one after the other. Daemon thread only.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "daemon/control_daemon.h"
#include "daemon/message_socket.h"

namespace tutti::daemon {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ControlDaemon& daemon, uint64_t id, os::PeerCredentials peer, os::Fd socket, Route route);
  ~Session();
  void Start();
  uid_t uid() const { return peer_.uid; }
  // Its peer waits for something: it has not been heard yet, or not been answered.
  bool busy() const { return !is_shell_ || running_ || !waiting_.empty() || !socket_.idle(); }

 private:
  struct Waiting {
    uint32_t serial;
    std::string line;
  };
  void Received(ipc::Envelope message);
  void ReceivedHello(const ipc::Envelope& message);
  void ReceivedCommand(const ipc::Envelope& message);
  void RunNext();
  void Answered(uint32_t serial, CommandAnswer answer);
  void End();

  ControlDaemon& daemon_;
  uint64_t id_;
  os::PeerCredentials peer_;
  Route route_;  // of the socket it came to
  MessageSocket socket_;
  TimerId silence_ = 0;
  bool is_shell_ = false;
  bool running_ = false;  // a command has not been answered yet
  std::deque<Waiting> waiting_;
};

}  // namespace tutti::daemon
