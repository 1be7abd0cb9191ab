#include "kubernetes/cgroup.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/proc_text.h"

namespace tutti::kubernetes {
namespace {

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "pod" and a UID of hexadecimal digits with dashes or underscores, anywhere in a part of the path.
std::string PodUid(std::string_view part) {
  const size_t at = part.find("pod");
  if (at == std::string_view::npos) return "";
  // "kubepods" matches "pod" but is not followed by a digit, so the search continues.
  std::string uid;
  for (size_t i = at + 3; i < part.size() && (IsHex(part[i]) || part[i] == '-' || part[i] == '_'); ++i)
    uid += part[i] == '_' ? '-' : part[i];
  const auto digits = std::count_if(uid.begin(), uid.end(), IsHex);
  return digits == 32 ? uid : PodUid(part.substr(at + 3));
}

// The 64 hexadecimal digits of a container id: a path component, by itself or between "crio-", "cri-containerd-",
// "docker-" and ".scope".
std::string ContainerId(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  if (const size_t end = part.find_last_of("-:"); end != std::string_view::npos) part.remove_prefix(end + 1);
  return part.size() == 64 && std::ranges::all_of(part, IsHex) ? std::string(part) : "";
}

// The outermost container of the path is the runtime's. Cgroups below it may have been created by the container itself,
// under any name, even another container's.
ContainerRef ParsePath(std::string_view path) {
  ContainerRef found;
  while (!path.empty() && found.container_id.empty()) {
    const std::string_view part = os::Cut(path, '/');
    if (found.pod_uid.empty()) found.pod_uid = PodUid(part);
    found.container_id = ContainerId(part);
  }
  return found;
}

}  // namespace

ContainerRef ParseCgroup(std::string_view text) {
  ContainerRef best;
  for (const os::CgroupLine& line : os::CgroupLines(text)) {
    ContainerRef found = ParsePath(line.path);
    if (!found.container_id.empty() && (best.container_id.empty() || best.pod_uid.empty())) best = std::move(found);
  }
  return best;
}

ContainerRef ContainerOf(pid_t pid, const std::string& proc) {
  return ParseCgroup(os::TextOf(fmt::format("{}/{}/cgroup", proc, pid)));
}

}  // namespace tutti::kubernetes
