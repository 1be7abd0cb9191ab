// Files that logs go to. What is written there comes in part from strangers, so nobody may aim a log at another file.
#pragma once

#include <string>

namespace tutti::log {

// Opens the file for appending, made 0644 if it is not there; -1, with errno, if that fails or if it is not a regular
// file of this one name that is ours or root's (ELOOP for a link, EPERM for the rest). In /dev anything will do: that
// is root's. Thread-safe.
int OpenFile(const std::string& path);

}  // namespace tutti::log
