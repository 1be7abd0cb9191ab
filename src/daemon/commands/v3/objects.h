// What the modules of protocol 3 share: finding the objects that a command names, and the limits of namespaces.
#pragma once

#include <optional>
#include <string>

#include "daemon/commands/client_query.h"
#include "daemon/commands/live_limits.h"
#include "daemon/commands/v3/verb.h"

namespace tutti::daemon::v3 {

// The server of this name, if the caller may see it; otherwise refuses the request and returns null.
NamedServer* FindServer(const Request& request, const std::string& name);
// The same for a server that the caller may change.
NamedServer* FindOwnServer(const Request& request, const std::string& name);
// The servers the caller may see, by name.
std::vector<NamedServer*> VisibleServers(const Request& request);
// Unless the caller is root or the daemon's own user, refuses the request and returns false.
bool RequirePrivilege(const Request& request);

// The server's process; null if it does not run.
ServerHandle* ProcessOf(const Request& request, const NamedServer& server);
// "Ready", "Initializing", "Fault", "Stopped".
std::string StatusWord(const Request& request, const NamedServer& server);

// `limits` with the options of the request that are in kLimitOptions.
// Fails on an invalid value, if none of them is given, and on an unprivileged raise above the daemon's defaults.
Result<NamespaceLimits> ChangedLimits(const Request& request, const NamedServer& server, NamespaceLimits limits);
Changed ChangedBy(const Request& request);
inline const OptionRule kLimitOptions[] = {{"pinned-memory-limit", "size"},   {"active-thread-percentage", "pct"},
                                           {"client-priority", "0|1"},        {"memory-sharing", "off|user|all"},
                                           {"collective-hard-limit", "size"}, {"collective-soft-limit", "size"}};
// As `list` and `get` show them; "-" if unset.
std::string MemoryText(const NamespaceLimits& limits);
std::string PercentageText(const NamespaceLimits& limits);
std::string PriorityText(const NamespaceLimits& limits);
std::string SharingText(const NamespaceLimits& limits);

// Calls `found` with the server's clients (all of them if the caller may change the server).
void WithClientsOf(const Request& request, const NamedServer& server,
                   std::function<void(const std::vector<wire::ClientStatus>&)> found);

}  // namespace tutti::daemon::v3
