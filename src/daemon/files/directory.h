// Directories that the daemon keeps files in: making them, and whether they can be trusted.
#pragma once

#include <string>

#include "base/error.h"

namespace tutti::daemon {

// Makes `path` and what is missing above it, 0755 whatever the umask. Fails if something else than a directory is
// there.
Status MakeDirectory(const std::string& path);

// Who may write to a directory, or to one above it, decides what its files are: they can put a link, a socket or
// another directory in the place of ours. Fails, with the remedy, unless nobody but root, this process's user and
// groups of root's choice can do that:
//
//   the directory   is ours, and neither its group nor others may write to it;
//   those above it  belong to root or us, and others may write to them only if they are sticky, as /tmp is. A group
//                   that may (as syslog may to /var/log on some systems) is trusted;
//   links           on the way belong to root or us, and the same holds where they lead.
//
// What does not exist yet is no objection. `variable` is what names the directory.
Status CheckDirectory(const std::string& path, const std::string& variable);

// Both: makes it if nothing speaks against that, and looks again: somebody may have been faster.
Status MakeTrustedDirectory(const std::string& path, const std::string& variable);

}  // namespace tutti::daemon
