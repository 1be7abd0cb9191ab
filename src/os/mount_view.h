// What another process sees of our file systems.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::os {

// Whether the process has a mount that shows all of our `directory`: it, or one above it. False if that cannot be told.
// A process may have 100,000 mounts, and lines of 8 KiB for each; who has more than kMostMountsBytes of them is taken
// to have that one too.
inline constexpr size_t kMostMountsBytes = 128 << 10;
bool SeesDirectory(pid_t pid, const std::string& directory);

// The same from the texts of both processes' /proc/PID/mountinfo; `directory` is absolute, without links.
bool ShowsDirectory(std::string_view our_mounts, std::string_view their_mounts, std::string_view directory);

}  // namespace tutti::os
