// The container that a process belongs to, according to the kernel: /proc/PID/cgroup.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace tutti::kubernetes {

struct ContainerRef {
  std::string pod_uid;       // empty if the path has none
  std::string container_id;  // 64 hexadecimal digits; empty: no container

  bool operator==(const ContainerRef&) const = default;
};

// Parses a cgroup file. Knows the paths of the cgroupfs driver (kubepods/burstable/pod<uid>/<id>) and of the systemd
// driver (kubepods-burstable-pod<uid with underscores>.slice/cri-containerd-<id>.scope), of any runtime.
ContainerRef ParseCgroup(std::string_view text);

// For a process, from `proc` (normally "/proc"); empty if it is gone.
ContainerRef ContainerOf(pid_t pid, const std::string& proc);

}  // namespace tutti::kubernetes
