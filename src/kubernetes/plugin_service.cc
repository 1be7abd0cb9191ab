#include "kubernetes/plugin_service.h"

#include <vector>

#include "base/log.h"
#include "kubernetes/replica_id.h"

namespace tutti::kubernetes {
namespace {

// The code that Go's gRPC uses for an error without one; the kubelet puts the text into the pod's status.
grpc::Status Refused(const Error& error) {
  log::Warning("{}", error.text);
  return {grpc::StatusCode::UNKNOWN, error.text};
}

std::map<std::string, int64_t> Totals(const AllocationContext& context) {
  std::map<std::string, int64_t> totals;
  for (size_t i = 0; i < context.devices.size(); ++i)
    totals[context.devices[i].uuid] = context.offer->portions[i].replicas;
  return totals;
}

}  // namespace

PluginService::PluginService(AllocationContext context, DeviceTable& table, ClaimBook& claims)
    : context_(std::move(context)),
      table_(table),
      claims_(claims),
      policy_(context_.config->flags.allocation_policy == "packed", Totals(context_)) {}

void PluginService::Close() {
  closed_ = true;
  table_.Wake();
}

grpc::Status PluginService::GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions* options) {
  options->set_get_preferred_allocation_available(true);
  return grpc::Status::OK;
}

v1beta1::ListAndWatchResponse PluginService::List(const DeviceTable::State& state) const {
  v1beta1::ListAndWatchResponse list;
  for (size_t i = 0; i < context_.devices.size(); ++i) {
    std::string ailment;
    for (size_t j = 0; j < state.devices.size(); ++j) {
      if (state.devices[j].uuid == context_.devices[i].uuid) ailment = state.ailments[j];
    }
    for (int64_t replica = 0; replica < context_.offer->portions[i].replicas; ++replica) {
      v1beta1::Device& device = *list.add_devices();
      ReplicaId id{context_.devices[i].uuid, std::nullopt};
      if (context_.offer->replicated) id.replica = static_cast<uint32_t>(replica);
      device.set_id(id.Text());
      device.set_health(ailment.empty() ? "Healthy" : "Unhealthy");
    }
  }
  return list;
}

grpc::Status PluginService::ListAndWatch(grpc::ServerContext* call, const v1beta1::Empty*,
                                         grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) {
  DeviceTable::State state = table_.Get();
  while (!closed_) {
    if (!stream->Write(List(state))) break;
    // Notices within a second that a kubelet is gone, so that its thread ends.
    const uint64_t sent = state.version;
    while (!closed_ && !call->IsCancelled() && state.version == sent) {
      state = table_.WaitForChange(sent, std::chrono::steady_clock::now() + std::chrono::seconds(1));
    }
    if (call->IsCancelled()) break;
  }
  return grpc::Status::OK;
}

grpc::Status PluginService::GetPreferredAllocation(grpc::ServerContext*,
                                                   const v1beta1::PreferredAllocationRequest* request,
                                                   v1beta1::PreferredAllocationResponse* response) {
  const std::lock_guard lock(policy_mutex_);
  for (const auto& container : request->container_requests()) {
    const auto preferred =
        policy_.Prefer({container.available_deviceids().begin(), container.available_deviceids().end()},
                       {container.must_include_deviceids().begin(), container.must_include_deviceids().end()},
                       container.allocation_size());
    if (!preferred)
      return Refused({0, "error getting list of preferred allocation devices: " + preferred.error().text});
    auto* const chosen = response->add_container_responses();
    for (const std::string& id : *preferred) chosen->add_deviceids(id);
  }
  return grpc::Status::OK;
}

grpc::Status PluginService::Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) {
  for (const auto& container : request->container_requests()) {
    const std::vector<std::string> ids(container.devices_ids().begin(), container.devices_ids().end());
    AllocationContext own = context_;
    own.host_pipe_directory = claims_.Directory(own.offer->resource, ids);
    auto allocated = kubernetes::Allocate(own, ids);
    if (!allocated) return Refused(allocated.error());
    if (const auto made = claims_.Make(own, ids); !made) return Refused(made.error());
    *response->add_container_responses() = std::move(*allocated);
  }
  return grpc::Status::OK;
}

grpc::Status PluginService::PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest*,
                                              v1beta1::PreStartContainerResponse*) {
  return grpc::Status::OK;
}

}  // namespace tutti::kubernetes
