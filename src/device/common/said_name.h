// Names as they are kept and said: of kernels and of files of PTX lines. They are as long as a client's PTX has them,
// and what is kept of its faults, or written to a log for them, is not to be.
#pragma once

#include <string>
#include <string_view>

namespace tutti::device {

// The begin of a kernel's name; a longer one ends in "...".
inline std::string SaidName(std::string_view name) {
  constexpr size_t kMost = 1024;
  return name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost)) + "...";
}

// The end of a path; of a longer one after "...".
inline std::string SaidPath(std::string_view path) {
  constexpr size_t kMost = 512;
  return path.size() <= kMost ? std::string(path) : "..." + std::string(path.substr(path.size() - kMost));
}

}  // namespace tutti::device
