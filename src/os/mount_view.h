// Which of our file systems another process sees.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::os {

// Whether the process has a mount that exposes all of our `directory`: the directory itself or one above it. False if
// that cannot be determined. A process may have 100,000 mounts with lines of 8 KiB each; one with more than
// kMostMountsBytes of them is assumed to have such a mount.
inline constexpr size_t kMostMountsBytes = 128 << 10;
bool SeesDirectory(pid_t pid, const std::string& directory);

// The same from the texts of both processes' /proc/PID/mountinfo; `directory` is absolute, without symbolic links.
bool ShowsDirectory(std::string_view our_mounts, std::string_view their_mounts, std::string_view directory);

}  // namespace tutti::os
