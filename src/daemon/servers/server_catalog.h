// The configured servers, running or not, and their namespaces' limits: the objects of protocol 3. Daemon thread only.
//
// A server of protocol 3 has a name and exists until it is deleted; its process starts with its first client and is
// restarted after a crash. Its clients belong to namespaces, which carry the limits. Each server has a namespace
// "default". A user who connects without naming a server gets "uid_<uid>", which protocol 2 uses for everybody.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/limits.h"
#include "control/places.h"
#include "daemon/access/memory_accounting.h"
#include "daemon/servers/server_plan.h"
#include "daemon/servers/server_settings.h"

namespace tutti::daemon {

inline constexpr const char* kDefaultNamespace = "default";

// The socket a client connected to: of a server's namespace, or (no server) the one that serves every user, or one that
// does so within a claim (daemon/access/claim.h).
struct Route {
  std::string server;
  std::string name_space = kDefaultNamespace;
  std::string claim = {};
};

// A namespace as servers know it: "<server>/<namespace>".
std::string FullName(const std::string& server, const std::string& name_space);
// The part of that behind the server's.
std::string NamespaceOf(const std::string& full_name);

// Unset fields follow the daemon's defaults.
struct NamespaceLimits {
  std::optional<double> active_thread_percentage;
  control::MemoryLimits memory_limits;
  std::string memory_text;  // as given
  std::optional<int> client_priority;
  std::optional<control::MemorySharing> memory_sharing;
  CollectiveLimits collective;  // of all its clients together
};

struct NamedServer {
  ServerPlan plan;
  std::string allowed_devices;  // as given: UUIDs and ordinals; empty: all
  std::map<std::string, NamespaceLimits> namespaces;
};

class ServerCatalog {
 public:
  // Protocol 2 has only users' servers. `multi_user`: all clients share the daemon's own.
  ServerCatalog(const Defaults& defaults, control::Places places, bool multi_user)
      : defaults_(defaults), places_(std::move(places)), multi_user_(multi_user) {}

  // Protocol 3: a user's server enters the catalog on first use. `added` creates a new server's directories and
  // sockets; if it fails, the server is not added.
  void KeepUserServers(std::function<Status(const NamedServer&)> added) { added_ = std::move(added); }

  uid_t ServingUser(uid_t client) const;

  // The server for a client of this user that connected by this route. Fails, with a CUresult, if the server is gone or
  // belongs to another user.
  Result<ServerPlan> PlanFor(const Route& route, uid_t client);

  // Whether PlanFor would have to add a server.
  bool WouldAdd(const Route& route, uid_t client) const;

  // What the server grants clients of the namespace. `running`: the process's own settings, which protocol 2 changes.
  const Defaults& defaults() const { return defaults_; }
  ServerSettings SettingsFor(const std::string& server, const std::string& name_space,
                             const ServerSettings& running) const;
  int PriorityFor(const std::string& server, const std::string& name_space) const;
  control::MemorySharing SharingFor(const std::string& server, const std::string& name_space) const;
  CollectiveLimits CollectiveFor(const std::string& server, const std::string& name_space) const;

  // Adds a server; its name must be valid (control::CheckObjectName) and unused. "uid_<uid>" is reserved for that user.
  Result<NamedServer*> Create(const std::string& name, uid_t uid, const std::string& allowed_devices);
  void Delete(const std::string& name) { servers_.erase(name); }
  NamedServer* Find(const std::string& name);
  const NamedServer* Find(const std::string& name) const { return const_cast<ServerCatalog*>(this)->Find(name); }
  std::vector<NamedServer*> All();  // by name

 private:
  const NamespaceLimits* LimitsOf(const std::string& server, const std::string& name_space) const;

  const Defaults& defaults_;
  control::Places places_;
  bool multi_user_;
  std::function<Status(const NamedServer&)> added_;
  std::map<std::string, NamedServer> servers_;
};

// CUDA_VISIBLE_DEVICES for a server that may use `allowed`, whose ordinals index the devices of `visible` (the daemon's
// own CUDA_VISIBLE_DEVICES, "" if unset). Fails on an ordinal out of range and on anything that is no device.
Result<std::string> VisibleDevices(const std::string& allowed, const std::string& visible);

}  // namespace tutti::daemon
