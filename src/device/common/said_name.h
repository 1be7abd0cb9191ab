// Shortens names of kernels and paths of source files for logs and fault records. Clients' PTX chooses their length,
// which must not decide how much is stored or logged for them.
#pragma once

#include <string>
#include <string_view>

namespace tutti::device {

// The beginning of a kernel's name; a longer one ends in "...".
inline std::string SaidName(std::string_view name) {
  constexpr size_t kMost = 1024;
  return name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost)) + "...";
}

// The end of a path; a longer one begins with "...".
inline std::string SaidPath(std::string_view path) {
  constexpr size_t kMost = 512;
  return path.size() <= kMost ? std::string(path) : "..." + std::string(path.substr(path.size() - kMost));
}

}  // namespace tutti::device
