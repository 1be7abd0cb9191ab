#include "kubernetes/plugin.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"

namespace tutti::kubernetes {

std::string EndpointName(const std::string& resource) {
  std::string vendor = resource.substr(0, resource.rfind('/'));
  if (vendor == "nvidia.com") vendor = "nvidia";
  return fmt::format("{}-{}.sock", vendor, resource.substr(resource.rfind('/') + 1));
}

Result<std::unique_ptr<Plugin>> Plugin::Start(const KubeletDirectory& directory, AllocationContext context,
                                              DeviceTable& table, ClaimBook& claims) {
  const std::string resource = context.offer->resource;
  std::unique_ptr<Plugin> plugin(new Plugin(std::move(context), table, claims));
  plugin->resource_ = resource;
  plugin->endpoint_ = EndpointName(resource);
  const std::string path = directory.path() + "/" + plugin->endpoint_;
  if (path.size() > 107)
    return Fail(fmt::format(
        "the socket path {} is longer than the 107 bytes a socket may have: use a shorter resource name", path));
  TUTTI_TRY(CheckEndpointFree(path));
  unlink(path.c_str());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix://" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(&plugin->service_);
  // A kubelet uses one stream and one call at a time, so a small pool suffices.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
  builder.SetMaxReceiveMessageSize(1 << 20);
  plugin->server_ = builder.BuildAndStart();
  if (!plugin->server_) return Fail(fmt::format("cannot serve at {}: is the directory writable?", path));
  plugin->path_ = path;
  // Only root, as which the kubelet runs, may request devices.
  (void)chmod(path.c_str(), 0600);
  TUTTI_TRY(Register(directory, plugin->endpoint_, resource));
  log::Info("Registered device plugin for '{}' with Kubelet, socket {}", resource, path);
  return plugin;
}

Plugin::~Plugin() {
  service_.Close();
  // Also removes the socket's file unless the kubelet already has.
  if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
}

}  // namespace tutti::kubernetes
