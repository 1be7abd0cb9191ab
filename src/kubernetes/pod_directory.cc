#include "kubernetes/pod_directory.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "base/log.h"
#include "container_runtime.grpc.pb.h"
#include "kubernetes/cgroup.h"
#include "pod_resources.grpc.pb.h"

namespace tutti::kubernetes {
namespace {

template <typename Service>
std::unique_ptr<typename Service::Stub> Connect(const std::string& socket) {
  if (socket.empty()) return nullptr;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  // Reconnects soon to a runtime that comes back; gRPC's own back-off grows to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return Service::NewStub(grpc::CreateCustomChannel("unix://" + socket, grpc::InsecureChannelCredentials(), arguments));
}

void Limit(grpc::ClientContext& call) { call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2)); }

Status Checked(const grpc::Status& status, const std::string& socket) {
  if (status.ok()) return {};
  return Fail(fmt::format("{} does not answer: {}", socket, status.error_message()));
}

}  // namespace

struct PodDirectory::Connections {
  std::unique_ptr<runtime::v1::RuntimeService::Stub> runtime;
  std::unique_ptr<v1::PodResourcesLister::Stub> kubelet;
};

PodDirectory::PodDirectory(PodSources sources)
    : sources_(std::move(sources)),
      connections_(new Connections{Connect<runtime::v1::RuntimeService>(sources_.runtime_socket),
                                   Connect<v1::PodResourcesLister>(sources_.pod_resources_socket)}) {}

PodDirectory::~PodDirectory() = default;

Status PodDirectory::RefreshContainers() {
  if (!connections_->runtime) return {};
  runtime::v1::ListPodSandboxResponse sandboxes;
  runtime::v1::ListContainersResponse containers;
  {
    grpc::ClientContext call;
    Limit(call);
    TUTTI_TRY(Checked(connections_->runtime->ListPodSandbox(&call, {}, &sandboxes), sources_.runtime_socket));
  }
  {
    grpc::ClientContext call;
    Limit(call);
    TUTTI_TRY(Checked(connections_->runtime->ListContainers(&call, {}, &containers), sources_.runtime_socket));
  }
  std::map<std::string, const runtime::v1::PodSandbox*> by_id;
  for (const auto& sandbox : sandboxes.items()) by_id[sandbox.id()] = &sandbox;
  std::map<std::string, PodContainer> found;
  for (const auto& container : containers.containers()) {
    const auto sandbox = by_id.find(container.pod_sandbox_id());
    if (sandbox == by_id.end()) continue;
    const auto& metadata = sandbox->second->metadata();
    const auto& annotations = sandbox->second->annotations();
    found[container.id()] = {metadata.namespace_(),
                             metadata.name(),
                             metadata.uid(),
                             container.metadata().name(),
                             {annotations.begin(), annotations.end()},
                             {}};
  }
  const std::lock_guard lock(mutex_);
  by_container_id_ = std::move(found);
  return {};
}

Status PodDirectory::RefreshDevices() {
  if (!connections_->kubelet) return {};
  grpc::ClientContext call;
  Limit(call);
  v1::ListPodResourcesResponse response;
  TUTTI_TRY(Checked(connections_->kubelet->List(&call, {}, &response), sources_.pod_resources_socket));
  std::vector<PodContainer> holders;
  for (const auto& pod : response.pod_resources()) {
    for (const auto& container : pod.containers()) {
      PodContainer holder{pod.namespace_(), pod.name(), "", container.name(), {}, {}};
      for (const auto& devices : container.devices()) {
        for (const std::string& id : devices.device_ids()) holder.devices.push_back({devices.resource_name(), id});
      }
      if (!holder.devices.empty()) holders.push_back(std::move(holder));
    }
  }
  const std::lock_guard lock(mutex_);
  holders_ = std::move(holders);
  return {};
}

Status PodDirectory::Refresh() {
  const Status containers = RefreshContainers();
  const Status devices = RefreshDevices();
  const Status both = containers ? devices : containers;
  const std::string trouble = both ? "" : both.error().text;
  const std::lock_guard lock(mutex_);
  if (trouble != trouble_) {
    if (trouble.empty())
      log::Info("pods are known again");
    else
      log::Warning("{}: metrics do not name all pods, and annotations may not be read", trouble);
    trouble_ = trouble;
  }
  return both;
}

std::optional<PodContainer> PodDirectory::Find(pid_t pid) const {
  const ContainerRef ref = ContainerOf(pid, sources_.proc);
  if (ref.container_id.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = by_container_id_.find(ref.container_id);
  if (found == by_container_id_.end()) {
    if (ref.pod_uid.empty()) return std::nullopt;
    return PodContainer{"", "", ref.pod_uid, "", {}, {}};
  }
  PodContainer container = found->second;
  for (const PodContainer& holder : holders_) {
    if (holder.space == container.space && holder.pod == container.pod && holder.container == container.container)
      container.devices = holder.devices;
  }
  return container;
}

void PodDirectory::AddAnnotations(std::vector<PodContainer>& holders) const {
  const std::lock_guard lock(mutex_);
  for (PodContainer& holder : holders) {
    for (const auto& [id, container] : by_container_id_) {
      if (container.space == holder.space && container.pod == holder.pod) holder.annotations = container.annotations;
    }
  }
}

std::vector<PodContainer> PodDirectory::Holders() const {
  const std::lock_guard lock(mutex_);
  return holders_;
}

}  // namespace tutti::kubernetes
