// What another process sees of our file systems.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace tutti::os {

// Whether the process has a mount that shows all of our `directory`: it, or one above it. False if that cannot be told.
bool SeesDirectory(pid_t pid, const std::string& directory);

// The same from the texts of both processes' /proc/PID/mountinfo; `directory` is absolute, without links.
bool ShowsDirectory(std::string_view our_mounts, std::string_view their_mounts, std::string_view directory);

}  // namespace tutti::os
