// Helpers of commands: look up the server they name and check the caller's rights.
#pragma once

#include "daemon/control/command.h"
#include "daemon/control/command_context.h"

namespace tutti::daemon::commands {

enum class Access { kSee, kChange, kInstruct };  // kInstruct: change, and it must be connected

// The server whose process id is word `index`, if the caller may see or change it. Else answers the call and returns
// null.
ServerHandle* NamedServer(const CommandCall& call, size_t index, Access access);

// All servers that the caller may see.
std::vector<ServerHandle*> VisibleServers(const CommandCall& call);

// True if word `index` is the process id of a server, whoever it belongs to.
bool NamesServer(const CommandCall& call, size_t index);

// "Server 12 not found", with 0 for a word that is no number.
std::string ServerNotFound(std::string_view word);
// "there is no client 12: ps lists them", for commands that NVIDIA does not have.
std::string ClientNotFound(std::string_view word);

// Unless the caller is an administrator, answers the call and returns false.
bool RequirePrivilege(const CommandCall& call);

}  // namespace tutti::daemon::commands
