// Opening log files. Part of their content comes from untrusted parties, so nobody may redirect a log to another file.
#pragma once

#include <string>

namespace tutti::log {

// Opens the file for appending and creates it with mode 0644 if it is missing. -1, with errno, if that fails or unless
// it is a regular file with a single link, owned by us or root (ELOOP for a symbolic link, EPERM otherwise). Anything
// in /dev is accepted: that is root's. Thread-safe.
int OpenFile(const std::string& path);

}  // namespace tutti::log
