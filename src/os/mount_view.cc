// A mount attaches a directory of a file system (the mount's root) at a mount point. Two processes may name the same
// directory differently, but its device and its path within the file system are the same for both.
#include "os/mount_view.h"

#include <limits.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "os/proc_text.h"

namespace tutti::os {
namespace {

struct Mount {
  std::string device, root, point;
};

// "\040" is a space.
std::string Plain(std::string_view word) {
  constexpr size_t kEscape = 4;
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\' || i + kEscape > word.size()) {
      text += word[i];
      continue;
    }
    text += static_cast<char>(std::strtol(std::string(word.substr(i + 1, kEscape - 1)).c_str(), nullptr, 8));
    i += kEscape - 1;
  }
  return text;
}

std::vector<Mount> Mounts(std::string_view text) {
  std::vector<Mount> all;
  while (!text.empty()) {
    std::string_view line = Cut(text, '\n');
    Cut(line, ' ');  // its number
    Cut(line, ' ');  // and its parent's
    const std::string_view device = Cut(line, ' '), root = Cut(line, ' '), point = Cut(line, ' ');
    if (!point.empty()) all.push_back({std::string(device), Plain(root), Plain(point)});
  }
  return all;
}

bool IsBelow(std::string_view path, std::string_view above) {
  if (above == "/") return path.starts_with('/');
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

// The mount that contains `directory`, with its root replaced by the directory's path within the file system. Of
// several mounts at one mount point the last counts.
std::optional<Mount> PlaceOf(const std::vector<Mount>& mounts, std::string_view directory) {
  const Mount* holder = nullptr;
  for (const Mount& mount : mounts) {
    if (IsBelow(directory, mount.point) && (holder == nullptr || mount.point.size() >= holder->point.size()))
      holder = &mount;
  }
  if (holder == nullptr) return std::nullopt;
  Mount place = *holder;
  if (place.root == "/") place.root.clear();
  place.root += directory.substr(place.point == "/" ? 0 : place.point.size());
  return place;
}

}  // namespace

bool ShowsDirectory(std::string_view our_mounts, std::string_view their_mounts, std::string_view directory) {
  const auto place = PlaceOf(Mounts(our_mounts), directory);
  if (!place) return false;
  for (const Mount& mount : Mounts(their_mounts)) {
    if (mount.device == place->device && IsBelow(place->root, mount.root)) return true;
  }
  return false;
}

bool SeesDirectory(pid_t pid, const std::string& directory) {
  char path[PATH_MAX];
  if (realpath(directory.c_str(), path) == nullptr) return false;
  const std::string theirs = TextOf("/proc/" + std::to_string(pid) + "/mountinfo", kMostMountsBytes + 1);
  return theirs.size() > kMostMountsBytes || ShowsDirectory(TextOf("/proc/self/mountinfo"), theirs, path);
}

}  // namespace tutti::os
