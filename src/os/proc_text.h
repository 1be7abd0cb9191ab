// Shared readers of files in /proc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::os {

// The whole file, or as much of it; "" if it cannot be read.
std::string TextOf(const std::string& path, size_t most_bytes = std::string::npos);

// Removes and returns what precedes the first `end` in `text`, with `end` removed as well; all of `text` without one.
std::string_view Cut(std::string_view& text, char end);

// A line of /proc/PID/cgroup, "number:controllers:path": the process's cgroup in one hierarchy.
struct CgroupLine {
  std::string_view controllers;  // comma-separated; empty in version 2
  std::string_view path;

  bool Names(std::string_view controller) const;
};

// The well-formed lines of `text`, in order, as views into it.
std::vector<CgroupLine> CgroupLines(std::string_view text);

}  // namespace tutti::os
