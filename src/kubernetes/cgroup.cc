#include "kubernetes/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace tutti::kubernetes {
namespace {

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "pod" and a UID of hexadecimal digits with dashes or underscores, anywhere in a part of the path.
std::string PodUid(std::string_view part) {
  const size_t at = part.find("pod");
  if (at == std::string_view::npos) return "";
  // "kubepods" is followed by no digit, so the search goes on behind it.
  std::string uid;
  for (size_t i = at + 3; i < part.size() && (IsHex(part[i]) || part[i] == '-' || part[i] == '_'); ++i) uid += part[i] == '_' ? '-' : part[i];
  const auto digits = std::count_if(uid.begin(), uid.end(), IsHex);
  return digits == 32 ? uid : PodUid(part.substr(at + 3));
}

std::string ContainerId(std::string_view part) {
  for (size_t i = 0; i < part.size(); ++i) {
    size_t end = i;
    while (end < part.size() && IsHex(part[end])) ++end;
    if (end - i == 64) return std::string(part.substr(i, 64));
    if (end > i) i = end;
  }
  return "";
}

}  // namespace

ContainerRef ParseCgroup(std::string_view text) {
  ContainerRef best;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ContainerRef found;
    while (!line.empty()) {
      const std::string_view part = line.substr(0, line.find('/'));
      line.remove_prefix(std::min(line.size(), part.size() + 1));
      if (std::string uid = PodUid(part); !uid.empty()) found.pod_uid = std::move(uid);
      if (std::string id = ContainerId(part); !id.empty()) found.container_id = std::move(id);
    }
    if (!found.container_id.empty() && (best.container_id.empty() || best.pod_uid.empty())) best = std::move(found);
  }
  return best;
}

ContainerRef ContainerOf(pid_t pid, const std::string& proc) {
  std::ifstream file(fmt::format("{}/{}/cgroup", proc, pid));
  return ParseCgroup(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace tutti::kubernetes
