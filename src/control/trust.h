// Whose daemon a user's programs believe: anyone may listen in a directory that the environment names.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string_view>

#include "control/words.h"

namespace tutti::control {

// Root's, the user's own, and that of the one user whom `trusted` names by number, the value of TUTTI_TRUST_UID
// (ipc/client_connection.h has the same rule).
inline bool ProgramsTrust(uid_t daemon, std::string_view trusted) {
  return daemon == 0 || daemon == geteuid() || ParseNumber(trusted) == daemon;
}

}  // namespace tutti::control
