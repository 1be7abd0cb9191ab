// The device plugin API for one resource. gRPC calls it from its own threads. Thread-safe.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "device_plugin.grpc.pb.h"
#include "kubernetes/allocation.h"
#include "kubernetes/allocation_policy.h"
#include "kubernetes/claim_book.h"
#include "kubernetes/device_table.h"

namespace tutti::kubernetes {

class PluginService final : public v1beta1::DevicePlugin::Service {
 public:
  // All of `context`, `table` and `claims` must outlive the service. `context.devices` has the order in which the ids
  // were generated.
  PluginService(AllocationContext context, DeviceTable& table, ClaimBook& claims);

  // Ends the streams, because the kubelet has gone or this plugin is about to.
  void Close();

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* options) override;
  grpc::Status ListAndWatch(grpc::ServerContext* call, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override;
  grpc::Status GetPreferredAllocation(grpc::ServerContext*, const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override;
  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override;
  grpc::Status PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest*,
                                 v1beta1::PreStartContainerResponse*) override;

 private:
  v1beta1::ListAndWatchResponse List(const DeviceTable::State& state) const;

  const AllocationContext context_;
  DeviceTable& table_;
  ClaimBook& claims_;
  std::atomic<bool> closed_ = false;
  std::mutex policy_mutex_;  // guards policy_
  AllocationPolicy policy_;
};

}  // namespace tutti::kubernetes
