// All server processes of this daemon: for each name at most one that accepts new clients, and older ones that are
// still ending. Daemon thread only.
//
// A server that dies while it serves is restarted at once, before its next client comes. If it keeps dying, restarts
// are delayed with exponential back-off, so that a broken server does not keep the machine busy.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log_budget.h"
#include "daemon/servers/introductions.h"
#include "daemon/servers/server_handle.h"

namespace tutti::daemon {

class ServerTable {
 public:
  struct Observer {
    // The server accepts clients from now on.
    std::function<void(ServerHandle&)> ready;
    // The server of this name could not be started; `why` is for its waiting clients.
    std::function<void(const std::string& name, const std::string& why)> failed;
    // Clients wait for the server of this name.
    std::function<bool(const std::string& name)> awaited;
    // A server has ended and left the table.
    std::function<void(pid_t, int status)> exited;
    // There is one server more, or less, than was written down for the next daemon.
    std::function<void()> changed;
  };

  // `log`: for lines that parties (daemon/access/visitor.h) cause through their servers. `end_with_us`: servers die
  // with this process, however it ends; otherwise they wait for the next daemon (rendezvous.h).
  ServerTable(EventLoop& loop, control::Places places, const Defaults& defaults, LogBudget& log, bool end_with_us);

  // Call first.
  void SetObserver(Observer observer) { observer_ = std::move(observer); }

  // The server of this name that accepts new clients, ready or not; null if there is none.
  ServerHandle* Current(const std::string& name);
  ServerHandle* Find(pid_t pid);
  std::vector<ServerHandle*> All();  // by process id

  // Servers that are needed from now on start with StartNeeded, except those that have been adopted by then.
  void PutOffStarts() { put_off_.emplace(); }
  void StartNeeded();
  // Starts no more servers; cancels delayed starts.
  void Close() { closed_ = true; }

  // Adopts a server of the previous program; it accepts no new clients.
  void Adopt(ServerLeft left);
  // Adopts a server of a daemon that has died, if it still runs. It accepts new clients like any other. One that cannot
  // be adopted, since it is of another version or accepts no connection, is followed to its end.
  void Adopt(const ServerRecord& record);
  // The servers that wait for the next daemon if this one dies.
  std::vector<ServerRecord> Records() const;
  // Reopens the log files of all servers, after a rotation.
  void OpenLogsAnew();
  // Of servers that run.
  std::vector<std::string> Logs() const;
  // No server is starting, and none has unread messages of ours.
  bool Quiet() const;

  // Unread messages, over all servers.
  size_t Untaken() const;

  // Makes sure that the server runs or is starting, on behalf of the party that needs it (kAdministrators: no quota).
  // Fails if it cannot be started, or if the party has reached its quota of servers: a container's processes may take
  // any user ids, and each gets a server of its own.
  Status Ensure(const ServerPlan& plan, const std::string& party);
  // What Ensure would return for a server that does not run.
  Status MayStart(const std::string& party) const;

 private:
  struct BackOff {
    uint32_t failures = 0;
    uint64_t not_before_ns = 0;
    bool start_pending = false;
  };
  bool IsToCome(const std::string& name);  // a server of this name runs, starts, or will soon
  bool Failing(const std::string& name) const;  // a server of this name has failed and is about to exit
  Status Launch(const ServerPlan& plan, const std::string& party);
  Result<LaunchedServer> LaunchWithPlace(const ServerPlan& plan, const std::string& party);
  void Add(std::unique_ptr<ServerHandle> server);
  void Reported(ServerHandle& server);
  void Introduced(ServerHandle& server);
  void Replace(const ServerPlan& plan, const std::string& party);
  void Exited(ServerHandle& server, int status);
  void CountFailure(const std::string& name, bool quick);
  void ForgetOldFailures();

  EventLoop& loop_;
  control::Places places_;
  const Defaults& defaults_;
  LogBudget& log_;
  const size_t most_servers_;  // of one party
  const bool end_with_us_;
  Observer observer_;
  bool closed_ = false;
  std::optional<std::vector<std::pair<ServerPlan, std::string>>> put_off_;  // with the party
  std::map<pid_t, std::unique_ptr<ServerHandle>> servers_;
  Introductions introductions_;
  std::map<std::string, BackOff> back_off_;
};

// The delay before the next start after `failures` consecutive failures: 0, 0, 0.1 s, 0.2 s, ... 10 s.
uint64_t BackOffNs(uint32_t failures);

}  // namespace tutti::daemon
