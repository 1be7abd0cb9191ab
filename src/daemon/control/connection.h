// An accepted connection. Its first message decides its kind: a CUDA client, which is handed on, or a shell, whose
// commands run one after the other. Daemon thread only.
//
// The peer is untrusted. It may send packets, but no descriptors; its next command is read after the previous one is
// answered and the answer sent; the connection is closed if no first message comes in time, or if answers stay unread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/access/visitor.h"
#include "daemon/clients/waiting_room.h"
#include "daemon/control/command.h"
#include "daemon/loop/message_socket.h"

namespace tutti::daemon {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // What connections are for.
  struct Use {
    std::function<void(WaitingClient)> client_arrived;
    std::function<void(const Visitor&, const Route&, std::vector<std::string> words, Reply)> run_command;
    std::function<bool()> needs_cgroups;  // MemoryAccounting::needs_cgroups
    std::function<void(Visitor&, int socket)> learn_cgroup = [](Visitor& visitor, int socket) {
      visitor.LearnCgroup(socket);
    };
  };
  // The owner of the connections, and what they need of it. Outlives them.
  struct Keeper {
    EventLoop& loop;
    LogBudget& log;
    Use use;
    std::function<bool(const Visitor&)> may_leave_unread;
    std::function<void(uint64_t id)> visitor_changed;
    std::function<void(uint64_t id)> ended;  // the connection is over; the call may destroy it
  };
  Connection(const Keeper& keeper, uint64_t id, Visitor visitor, os::StrangersFd socket, Route route);
  ~Connection();
  // Before Start(), optional: handles the first message if it is there. The connection may be over when this returns.
  void HearFirst();
  void Start();
  const Visitor& visitor() const { return visitor_; }
  size_t unread_bytes() const { return socket_.queued_bytes(); }
  // Its first message has not arrived yet.
  bool silent() const { return !is_shell_; }
  // It waits for the answer to a command.
  bool busy() const { return is_shell_ && (running_ || !socket_.idle()); }
  int socket() const { return socket_.fd(); }

 private:
  void Received(ipc::Envelope message);
  void ReceivedHello(const ipc::Envelope& message);
  void ReceivedCommand(const ipc::Envelope& message);
  void Run(uint32_t serial, const std::string& line);
  void Answered(uint32_t serial, CommandAnswer answer);
  void ExpectReading(size_t unread_bytes);
  void ExpectFirst();
  void Stays();
  void End();

  const Keeper& keeper_;
  uint64_t id_;
  Visitor visitor_;
  std::string party_;
  Route route_;  // of the socket it connected to
  MessageSocket socket_;
  TimerId patience_ = 0;  // timeout of the first message, then of unread answers
  bool is_shell_ = false;
  bool running_ = false;  // a command has not been answered yet
};

}  // namespace tutti::daemon
