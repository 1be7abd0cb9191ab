// Creates the directories of the daemon's files and checks whether they can be trusted.
#pragma once

#include <string>

#include "base/error.h"

namespace tutti::daemon {

// Creates `path` and missing parents, 0755 whatever the umask. Fails if something other than a directory is there.
Status MakeDirectory(const std::string& path);

// Whoever may write to a directory, or to one above it, can replace our files by a link, a socket or another directory.
// Fails, naming the remedy, unless only root, this process's user and groups of root's choice can do that:
//
//   the directory   is ours, and neither its group nor others may write to it;
//   those above it  belong to root or us, and others may write to them only if they are sticky, as /tmp is. A group
//                   that may (as syslog may to /var/log on some systems) is trusted;
//   links           on the way belong to root or us, and the same holds where they lead.
//
// Missing directories are fine. `variable` is the environment variable that names the directory.
Status CheckDirectory(const std::string& path, const std::string& variable);

// Both: checks, creates the directory and checks again, since another process may have created it in between.
Status MakeTrustedDirectory(const std::string& path, const std::string& variable);

}  // namespace tutti::daemon
