// All servers of this daemon: at most one of each name that takes new clients, and older ones that are still ending.
// Daemon thread only.
//
// A server that dies while it serves is started again at once, before its next client comes. If that keeps happening,
// each start waits longer than the one before (back-off), so that a machine with a broken server is not kept busy by
// starting it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/log_budget.h"
#include "daemon/servers/server_handle.h"

namespace tutti::daemon {

class ServerTable {
 public:
  struct Observer {
    // The server takes clients from now on.
    std::function<void(ServerHandle&)> ready;
    // The clients that wait for the server of this name will not get one; `why` is for them.
    std::function<void(const std::string& name, const std::string& why)> failed;
    // Any server has ended and has left the table.
    std::function<void(pid_t, int status)> exited;
  };

  // `log`: for what parties (daemon/access/visitor.h) make their servers do.
  ServerTable(EventLoop& loop, control::Places places, const Defaults& defaults, LogBudget& log);

  // Before anything else.
  void SetObserver(Observer observer) { observer_ = std::move(observer); }

  // The server of this name that takes new clients, ready or not; null if there is none.
  ServerHandle* Current(const std::string& name);
  ServerHandle* Find(pid_t pid);
  std::vector<ServerHandle*> All();  // by process id

  // No server is started any more, waiting starts included.
  void Close() { closed_ = true; }

  // A server of the program that went on as this one: it takes no new clients.
  void Adopt(ServerLeft left);
  // The log files may have been moved away: all servers go on in new ones.
  void OpenLogsAnew();
  // Of servers that run.
  std::vector<std::string> Logs() const;
  // No server is on its way up, and none has messages of ours to take.
  bool Quiet() const;

  // Messages that servers have not taken yet, of all of them.
  size_t Untaken() const;

  // Makes sure that the server is there or on its way, for the party that needs it (kAdministrators: any number). Fails
  // if it cannot be started at all, or if too many servers run already that this party has made necessary: in a
  // container one may take any user number, and each has a server of its own.
  Status Ensure(const ServerPlan& plan, const std::string& party);
  // What Ensure would say of a server that is not there.
  Status MayStart(const std::string& party) const;

 private:
  struct BackOff {
    uint32_t failures = 0;
    uint64_t not_before_ns = 0;
    bool start_pending = false;
  };
  bool Failing(const std::string& name) const;  // a server of this name has failed and is about to exit
  Status Launch(const ServerPlan& plan, const std::string& party);
  void Add(std::unique_ptr<ServerHandle> server);
  void Reported(ServerHandle& server);
  void Exited(ServerHandle& server, int status);
  void CountFailure(const std::string& name, bool quick);
  void ForgetOldFailures();

  EventLoop& loop_;
  control::Places places_;
  const Defaults& defaults_;
  LogBudget& log_;
  const size_t most_servers_;  // of one party
  Observer observer_;
  bool closed_ = false;
  std::map<pid_t, std::unique_ptr<ServerHandle>> servers_;
  std::map<std::string, BackOff> back_off_;
};

// Delay before the next start after `failures` failed ones in a row: 0, 0, 0.1 s, 0.2 s, ... 10 s.
uint64_t BackOffNs(uint32_t failures);

}  // namespace tutti::daemon
