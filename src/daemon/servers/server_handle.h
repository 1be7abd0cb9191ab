// The daemon's view of one server process: its state, its message connection, its end. A server runs as its user, who
// may control it. The daemon therefore trusts none of its messages, accepts only answers to its own requests, and never
// blocks on it. Daemon thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log_budget.h"
#include "daemon/loop/event_loop.h"
#include "daemon/loop/message_socket.h"
#include "daemon/servers/server_launch.h"
#include "daemon/servers/server_left.h"
#include "daemon/servers/server_settings.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

enum class ServerState { kInitializing, kActive, kFault };
const char* StateName(ServerState state);  // "INITIALIZING", ...

class ServerHandle {
 public:
  struct Reply {
    wire::ServerReply body;
    os::Fd file;  // of a query: the file the server has filled, unless it holds the answer itself
  };
  using ReplyFunction = std::function<void(Result<Reply>)>;

  // `started_for`: the party (daemon/access/visitor.h) whose client needed it, and whose log budget pays for lines
  // about it.
  ServerHandle(EventLoop& loop, LaunchedServer launched, ServerPlan plan, ServerSettings settings,
               std::string started_for, LogBudget& log);
  // A server taken over from the previous program: active, but without new clients.
  ServerHandle(EventLoop& loop, ServerLeft left, LogBudget& log);
  // A server that has outlived its daemon, and is met where it waited: it says what it has like one that was started.
  // Without a channel it is only followed to its end: it serves the clients that it has.
  ServerHandle(EventLoop& loop, LaunchedServer met, const ServerRecord& record, LogBudget& log);
  ~ServerHandle();
  ServerHandle(const ServerHandle&) = delete;
  ServerHandle& operator=(const ServerHandle&) = delete;

  // `reported` is called when the server has reported that it is ready, or why it is not (failure()); `exited` when its
  // process is gone, with its exit status (128 + signal if one ended it). `exited` may destroy this object.
  void Start(std::function<void()> reported, std::function<void(int)> exited);

  // Hands over a client's connection; the server answers the client.
  void Attach(const wire::Attach& attach, os::StrangersFd client);

  // Sends a request; `reply` is called exactly once: with the answer, or with an error when the server ends or does not
  // answer within `patience_ns`.
  template <typename Body>
  void Ask(wire::MessageKind kind, const Body& body, ReplyFunction reply, uint64_t patience_ns = 5'000'000'000) {
    ByteWriter out;
    wire::Put(out, body);
    SendRequest(kind, std::move(out), {}, std::move(reply), patience_ns);
  }
  // With the page that it says (introductions.h).
  void Introduce(const wire::ServerPeer& peer, os::Fd page, ReplyFunction reply);
  // It knows the other servers, and they know it: it takes clients.
  void SetIntroduced() { introduced_ = true; }

  // Redirects its log to the file.
  void SetLog(os::Fd file);

  // Asks the server to end, with its last client or at once. If told to end at once, it is killed after two seconds.
  void Shutdown(bool force);
  void Kill();
  // Answers what has not been answered with an error: nobody will wait for the server's end.
  void GiveUpRequests();

  // What the next program needs of it. The descriptors stay ours.
  ServerLeaving Leave() const;
  // For the next daemon, if this one dies. Only for a server with a rendezvous.
  ServerRecord Record() const;
  // Messages, mostly clients, that it has not read yet.
  size_t untaken() const { return channel_.queued(); }
  bool quiet() const { return channel_.idle() && asked_.empty(); }

  pid_t pid() const { return launched_.pid; }
  const ServerPlan& plan() const { return plan_; }
  const std::string& name() const { return plan_.name; }
  uid_t uid() const { return plan_.uid; }
  const std::string& started_for() const { return started_for_; }
  const std::string& rendezvous() const { return launched_.rendezvous; }
  // It has served under another daemon before.
  bool adopted() const { return adopted_; }
  // It was to be adopted, and has not said anything yet.
  bool unheard() const { return silent_; }
  // It can be told and asked. One that is not goes on with its clients, and can only be killed.
  bool connected() const { return understands_; }
  ServerState state() const { return state_; }
  bool takes_clients() const { return state_ == ServerState::kActive && introduced_; }
  bool stopping() const { return stopping_; }
  const std::string& failure() const { return failure_; }
  const std::vector<wire::ServedDevice>& devices() const { return devices_; }
  uint64_t started_ns() const { return started_ns_; }
  ServerSettings& settings() { return settings_; }
  // How its clients share the device; stored here by the command that sets it.
  const std::string& policy() const { return policy_; }
  void set_policy(std::string policy) { policy_ = std::move(policy); }

 private:
  struct Asked {
    ReplyFunction reply;
    TimerId patience;
    os::Fd file;  // of a query: for a reply too long for a packet
  };
  void SendRequest(wire::MessageKind kind, ByteWriter body, std::vector<os::Fd> files, ReplyFunction reply,
                   uint64_t patience_ns);
  void ReceivedReply(ipc::Envelope message);
  void Answer(uint32_t serial, Result<wire::ServerReply> body);
  void Received(ipc::Envelope message);
  void ReceivedReady(const wire::ServerReady& ready);
  void HearWhyItEnded();
  void Exited();
  void ChannelEnded();
  void Break(const std::string& why);
  void KillAfter(uint64_t delay_ns);
  void OnlyFollow();  // from here on it cannot be told or asked anything
  void NotReady();
  int ExitStatus();

  EventLoop& loop_;
  LogBudget& log_;
  const std::string started_for_;
  LaunchedServer launched_;
  const uint64_t start_ticks_;
  const bool adopted_ = false;
  bool silent_ = false;
  ServerPlan plan_;
  ServerSettings settings_;
  std::string policy_ = "share";
  MessageSocket channel_;
  WatchId process_watch_ = 0;
  TimerId kill_timer_ = 0;
  ServerState state_ = ServerState::kInitializing;
  bool introduced_ = false;
  bool stopping_ = false;
  bool forced_ = false;
  bool killed_ = false;
  bool understands_ = true;  // there is a channel, of our version of the protocol
  const uint32_t version_ = wire::kProtocolVersion;  // of its messages; 0: unknown
  std::string failure_;
  std::vector<wire::ServedDevice> devices_;
  uint64_t started_ns_;
  uint32_t next_serial_ = 1;
  std::unordered_map<uint32_t, Asked> asked_;
  uint32_t unheard_ = 0;  // late answers still to come, for which nobody waits
  std::function<void()> reported_;
  std::function<void(int)> exited_;
};

}  // namespace tutti::daemon
