#include "kubernetes/allocation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>

#include "kubernetes/replica_id.h"

namespace tutti::kubernetes {
namespace {

using sharing::ListStrategy;
using sharing::Strategy;

constexpr const char* kVolumeMountRoot = "/var/run/nvidia-container-devices";

std::optional<size_t> IndexOf(std::span<const sharing::DeviceFacts> devices, const std::string& uuid) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].uuid == uuid) return i;
  }
  return std::nullopt;
}

bool IsKnown(const AllocationContext& context, const std::string& id) {
  const ReplicaId parsed = ReplicaId::Parse(id);
  const auto index = IndexOf(context.devices, parsed.uuid);
  if (!index || parsed.replica.has_value() != context.offer->replicated) return false;
  return !parsed.replica || *parsed.replica < context.offer->portions[*index].replicas;
}

Status Check(const AllocationContext& context, const std::vector<std::string>& ids) {
  const auto refuse = [&](std::string why) {
    return Fail(
        fmt::format("invalid allocation request for \"{}\": invalid request: {}", context.offer->resource, why));
  };
  if (ids.empty()) return refuse("no device is asked for");
  for (const std::string& id : ids) {
    if (!IsKnown(context, id)) return refuse("unknown device: " + id.substr(0, 80));
  }
  const auto& replication = context.config->replication;
  if (context.offer->replicated && replication.fail_requests_greater_than_one && ids.size() > 1) {
    return refuse(fmt::format("maximum request size for shared resources is 1; found {}", ids.size()));
  }
  return {};
}

void AddMount(v1beta1::ContainerAllocateResponse& response, const std::string& in_container, const std::string& on_host,
              bool read_only = false) {
  v1beta1::Mount& mount = *response.add_mounts();
  mount.set_container_path(in_container);
  mount.set_host_path(on_host);
  mount.set_read_only(read_only);
}

// How the devices are passed to the container runtime.
void NameDevices(const AllocationContext& context, const std::vector<size_t>& chosen,
                 v1beta1::ContainerAllocateResponse& response) {
  const sharing::Flags& flags = context.config->flags;
  std::vector<std::string> names;
  for (const size_t index : chosen)
    names.push_back(flags.device_id_strategy == "index" ? std::to_string(index) : context.devices[index].uuid);
  if (flags.list_strategies.contains(ListStrategy::kEnvVar)) {
    (*response.mutable_envs())["NVIDIA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(names, ","));
  }
  if (flags.list_strategies.contains(ListStrategy::kVolumeMounts)) {
    (*response.mutable_envs())["NVIDIA_VISIBLE_DEVICES"] = kVolumeMountRoot;
    for (const std::string& name : names) AddMount(response, fmt::format("{}/{}", kVolumeMountRoot, name), "/dev/null");
  }
  std::vector<std::string> qualified;
  for (const std::string& name : names) qualified.push_back("nvidia.com/gpu=" + name);
  if (flags.list_strategies.contains(ListStrategy::kCdiAnnotations)) {
    const std::string key =
        fmt::format("{}nvidia-device-plugin_{}", flags.cdi_annotation_prefix, context.devices[chosen.front()].uuid);
    (*response.mutable_annotations())[key] = fmt::format("{}", fmt::join(qualified, ","));
  }
  if (flags.list_strategies.contains(ListStrategy::kCdiCri)) {
    for (const std::string& name : qualified) response.add_cdi_devices()->set_name(name);
  }
  const std::pair<bool, const char*> modes[] = {{flags.gdrcopy_enabled, "NVIDIA_GDRCOPY"},
                                                {flags.gds_enabled, "NVIDIA_GDS"},
                                                {flags.mofed_enabled, "NVIDIA_MOFED"}};
  for (const auto& [enabled, name] : modes) {
    if (enabled) (*response.mutable_envs())[name] = "enabled";
  }
}

void AddDeviceNodes(const std::vector<size_t>& chosen, v1beta1::ContainerAllocateResponse& response) {
  std::vector<std::string> paths = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                    "/dev/nvidia-modeset"};
  for (const size_t index : chosen) paths.push_back(fmt::format("/dev/nvidia{}", index));
  for (const std::string& path : paths) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) continue;
    v1beta1::DeviceSpec& node = *response.add_devices();
    node.set_container_path(path);
    node.set_host_path(path);
    node.set_permissions("rw");
  }
}

// Access to the control daemon, at the daemon's own path.
void AddService(const AllocationContext& context, v1beta1::ContainerAllocateResponse& response) {
  const sharing::Config& config = *context.config;
  const std::string directory = fmt::format("/mps/{}/pipe", context.offer->resource);
  (*response.mutable_envs())["CUDA_MPS_PIPE_DIRECTORY"] = directory;
  // Read-only: connecting needs no write access, and nobody in the container can replace the socket.
  AddMount(response, directory, context.host_pipe_directory, /*read_only=*/true);
  if (config.strategy == Strategy::kMps && config.extension.mount_shm)
    AddMount(response, "/dev/shm", config.flags.mps_root + "/shm");
  if (!config.extension.client_library) return;
  const sharing::ClientLibrary& library = *config.extension.client_library;
  AddMount(response, library.container_path, library.host_path, /*read_only=*/true);
  (*response.mutable_envs())["LD_LIBRARY_PATH"] = library.container_path;
}

void AddLimits(const AllocationContext& context, const std::vector<std::string>& ids,
               v1beta1::ContainerAllocateResponse& response) {
  std::optional<double> percentage;
  std::vector<std::string> memory;
  for (const DeviceLimit& limit : LimitsOf(*context.offer, context.devices, ids)) {
    // A process has one percentage for all devices: the largest, since a smaller one would cut a device's allocated
    // share.
    if (limit.percentage) percentage = std::max(percentage.value_or(0), *limit.percentage);
    if (limit.memory_bytes)
      memory.push_back(fmt::format("{}={}M", context.devices[limit.device].uuid, *limit.memory_bytes >> 20));
  }
  if (percentage) (*response.mutable_envs())["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = fmt::format("{:g}", *percentage);
  if (!memory.empty())
    (*response.mutable_envs())["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = fmt::format("{}", fmt::join(memory, ","));
}

}  // namespace

std::vector<DeviceLimit> LimitsOf(const sharing::Offer& offer, std::span<const sharing::DeviceFacts> devices,
                                  const std::vector<std::string>& ids) {
  std::map<size_t, int64_t> counts;
  for (const std::string& id : ids) {
    if (const auto index = IndexOf(devices, ReplicaId::Parse(id).uuid)) ++counts[*index];
  }
  std::vector<DeviceLimit> limits;
  for (const auto& [index, count] : counts) {
    const sharing::Portion& portion = offer.portions[index];
    DeviceLimit limit{.device = index, .percentage = {}, .memory_bytes = {}};
    if (portion.percentage) limit.percentage = std::min(100.0, *portion.percentage * static_cast<double>(count));
    if (portion.memory_bytes)
      limit.memory_bytes = std::min(*portion.memory_bytes * static_cast<uint64_t>(count), devices[index].total_bytes);
    limits.push_back(limit);
  }
  return limits;
}

Result<v1beta1::ContainerAllocateResponse> Allocate(const AllocationContext& context,
                                                    const std::vector<std::string>& ids) {
  TUTTI_TRY(Check(context, ids));
  std::vector<size_t> chosen;
  for (const std::string& id : ids) {
    const size_t index = *IndexOf(context.devices, ReplicaId::Parse(id).uuid);
    if (std::find(chosen.begin(), chosen.end(), index) == chosen.end()) chosen.push_back(index);
  }
  v1beta1::ContainerAllocateResponse response;
  NameDevices(context, chosen, response);
  AddService(context, response);
  if (context.config->extension.client_library) {
    // No container toolkit hides the other devices from this container.
    std::vector<std::string> uuids;
    for (const size_t index : chosen) uuids.push_back(context.devices[index].uuid);
    (*response.mutable_envs())["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(uuids, ","));
  }
  if (sharing::SharesVary(*context.config)) AddLimits(context, ids, response);
  if (context.config->flags.pass_device_specs) AddDeviceNodes(chosen, response);
  return response;
}

}  // namespace tutti::kubernetes
