#include "sharing/cdi_spec.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

namespace tutti::sharing {
namespace {

using Json = nlohmann::ordered_json;

Json Bind(const std::string& host, const std::string& container, bool read_only) {
  Json options = {"rbind", "nosuid", "nodev"};
  options.push_back(read_only ? "ro" : "rw");
  return {{"hostPath", host}, {"containerPath", container}, {"options", options}};
}

Json DeviceNamed(const std::string& name, const std::string& uuids, const CdiOptions& options,
                 std::span<const DeviceFacts> limited) {
  std::vector<std::string> environment = {"NVIDIA_VISIBLE_DEVICES=void", "CUDA_VISIBLE_DEVICES=" + uuids};
  if (options.memory_bytes) {
    std::string limits;
    for (const DeviceFacts& device : limited)
      limits += fmt::format("{}{}={}M", limits.empty() ? "" : ",", device.uuid, *options.memory_bytes >> 20);
    environment.push_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=" + limits);
  }
  return {{"name", name}, {"containerEdits", {{"env", environment}}}};
}

bool IsPart(std::string_view text, std::string_view others) {
  if (text.empty() || std::isalnum(static_cast<unsigned char>(text.front())) == 0 ||
      std::isalnum(static_cast<unsigned char>(text.back())) == 0)
    return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && others.find(c) == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

Status CheckCdiKind(const std::string& kind) {
  const size_t slash = kind.find('/');
  if (slash != std::string::npos && IsPart(std::string_view(kind).substr(0, slash), "-_.") &&
      IsPart(std::string_view(kind).substr(slash + 1), "-_."))
    return {};
  return Fail(fmt::format("\"{}\" is no CDI kind: write vendor/class, as in nvidia.com/gpu", kind));
}

std::string CdiSpec(const CdiOptions& options, std::span<const DeviceFacts> devices) {
  Json list = Json::array();
  std::string all;
  for (size_t i = 0; i < devices.size(); ++i) {
    list.push_back(DeviceNamed(std::to_string(i), devices[i].uuid, options, devices.subspan(i, 1)));
    list.push_back(DeviceNamed(devices[i].uuid, devices[i].uuid, options, devices.subspan(i, 1)));
    all += (i > 0 ? "," : "") + devices[i].uuid;
  }
  list.push_back(DeviceNamed("all", all, options, devices));
  Json environment = Json::array({"CUDA_MPS_PIPE_DIRECTORY=" + options.container_pipe_directory});
  if (options.percentage)
    environment.push_back(fmt::format("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={}", *options.percentage));
  Json mounts = Json::array({Bind(options.host_pipe_directory, options.container_pipe_directory, false)});
  if (!options.host_library_directory.empty()) {
    environment.push_back("LD_LIBRARY_PATH=" + options.container_library_directory);
    mounts.push_back(Bind(options.host_library_directory, options.container_library_directory, true));
    if (!options.host_smi.empty()) mounts.push_back(Bind(options.host_smi, "/usr/bin/nvidia-smi", true));
  }
  const Json spec = {{"cdiVersion", "0.5.0"},
                     {"kind", options.kind},
                     {"devices", list},
                     {"containerEdits", {{"env", environment}, {"mounts", mounts}}}};
  return spec.dump(2) + "\n";
}

}  // namespace tutti::sharing
