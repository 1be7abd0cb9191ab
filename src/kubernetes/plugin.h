// One resource as the kubelet sees it: a socket in its directory, the service behind it, the registration.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "kubernetes/kubelet.h"
#include "kubernetes/plugin_service.h"

namespace tutti::kubernetes {

// Main thread only. The destructor stops serving.
class Plugin {
 public:
  static Result<std::unique_ptr<Plugin>> Start(const KubeletDirectory& directory, AllocationContext context,
                                               DeviceTable& table, ClaimBook& claims);
  ~Plugin();

  const std::string& endpoint() const { return endpoint_; }
  const std::string& resource() const { return resource_; }

 private:
  Plugin(AllocationContext context, DeviceTable& table, ClaimBook& claims)
      : service_(std::move(context), table, claims) {}

  std::string resource_;
  std::string endpoint_;
  std::string path_;
  PluginService service_;
  std::unique_ptr<grpc::Server> server_;
};

// "nvidia.com/gpu.shared": "nvidia-gpu.shared.sock".
std::string EndpointName(const std::string& resource);

}  // namespace tutti::kubernetes
