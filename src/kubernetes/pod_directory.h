// Who a process is to the cluster: namespace, pod and container, the pod's annotations, and the devices the kubelet
// gave it. Joined from three sources, none of which is the API server: the process's cgroup names the container, the
// container runtime (CRI) names its pod, the kubelet's pod-resources API says which devices it holds.
//
// Without a runtime's socket the pod's UID is all that is known; without the kubelet's, there are no device ids.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::kubernetes {

struct HeldDevice {
  std::string resource;
  std::string id;  // "UUID::N"
};

struct PodContainer {
  std::string space;  // namespace
  std::string pod;
  std::string pod_uid;
  std::string container;
  std::map<std::string, std::string> annotations;  // of the pod
  std::vector<HeldDevice> devices;
};

struct PodSources {
  std::string proc = "/proc";
  std::string runtime_socket;        // "/run/containerd/containerd.sock"; empty: none
  std::string pod_resources_socket;  // "/var/lib/kubelet/pod-resources/kubelet.sock"; empty: none
};

// Thread-safe.
class PodDirectory {
 public:
  explicit PodDirectory(PodSources sources);
  ~PodDirectory();

  // Asks runtime and kubelet anew. What one of them does not answer within two seconds keeps its old value; the error
  // says which, and so does the log when that changes. To be called before a round of questions.
  Status Refresh();

  // Nothing for a process that is in no pod.
  std::optional<PodContainer> Find(pid_t pid) const;
  // All containers that hold devices, whether they have a process on them or not.
  std::vector<PodContainer> Holders() const;
  // Fills in the pods' annotations, as far as the runtime knows them.
  void AddAnnotations(std::vector<PodContainer>& holders) const;

 private:
  struct Connections;
  Status RefreshContainers();
  Status RefreshDevices();

  const PodSources sources_;
  const std::unique_ptr<Connections> connections_;
  mutable std::mutex mutex_;  // guards the rest
  std::map<std::string, PodContainer> by_container_id_;
  std::vector<PodContainer> holders_;  // annotations and UID empty
  std::string trouble_;  // of the last refresh
};

}  // namespace tutti::kubernetes
