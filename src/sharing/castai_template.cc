#include "sharing/castai_template.h"

#include <fmt/format.h>

#include "sharing/config.h"

namespace tutti::sharing {
namespace {

Result<int64_t> ReadClients(const Value& value) {
  TUTTI_ASSIGN(const int64_t clients, value.Integer());
  if (clients < 1 || clients > kMaxReplicas) {
    return value.Wrong(fmt::format("{} must be from 1 to {}, but is {}", value.path(), kMaxReplicas, clients));
  }
  return clients;
}

// The API's names, and the Terraform provider's.
Result<Strategy> ReadStrategy(const Value& value) {
  TUTTI_ASSIGN(const std::string word, value.OneOf({"GPU_SHARING_STRATEGY_MPS", "GPU_SHARING_STRATEGY_TIME_SLICING",
                                                    "GPU_SHARING_STRATEGY_UNSPECIFIED", "mps", "time-slicing"}));
  if (word == "GPU_SHARING_STRATEGY_MPS" || word == "mps") return Strategy::kMps;
  if (word == "GPU_SHARING_STRATEGY_UNSPECIFIED") return Strategy::kNone;
  return Strategy::kTimeSlicing;
}

}  // namespace

int64_t NodeTemplate::ClientsOf(const std::string& gpu_name) const {
  if (strategy == Strategy::kNone) return 1;
  const auto found = clients_by_gpu.find(gpu_name);
  return found == clients_by_gpu.end() ? default_clients : found->second;
}

Result<NodeTemplate> ReadNodeTemplate(const Value& root) {
  NodeTemplate result{.strategy = Strategy::kNone};
  const auto gpu = root.Find("gpu");
  if (!gpu) return root.Wrong("a node template needs its `gpu` object: {\"gpu\": {\"sharingStrategy\": ...}}");
  TUTTI_TRY(gpu->OnlyKeys({"sharingStrategy", "defaultSharedClientsPerGpu", "sharingConfiguration", "enableTimeSharing",
                           "userManagedGpuDrivers"}));
  const auto strategy = gpu->Find("sharingStrategy");
  if (strategy) {
    TUTTI_ASSIGN(result.strategy, ReadStrategy(*strategy));
  }
  if (const auto time_sharing = gpu->Find("enableTimeSharing")) {
    TUTTI_ASSIGN(const bool on, time_sharing->Boolean());
    if (on && result.strategy == Strategy::kMps)
      return time_sharing->Wrong("gpu.enableTimeSharing and sharingStrategy MPS exclude each other: remove the former");
    if (on) result.strategy = Strategy::kTimeSlicing;
  }
  if (const auto drivers = gpu->Find("userManagedGpuDrivers")) TUTTI_TRY(drivers->Boolean());
  if (const auto clients = gpu->Find("defaultSharedClientsPerGpu")) {
    TUTTI_ASSIGN(result.default_clients, ReadClients(*clients));
  }
  if (const auto by_name = gpu->Find("sharingConfiguration")) {
    if (!by_name->IsMap())
      return by_name->Wrong("gpu.sharingConfiguration must be a map from GPU names to {\"sharedClientsPerGpu\": N}");
    for (const std::string& name : by_name->Keys()) {
      const auto entry = by_name->Find(name);
      if (!entry) continue;
      TUTTI_TRY(entry->OnlyKeys({"sharedClientsPerGpu"}));
      const auto clients = entry->Find("sharedClientsPerGpu");
      if (!clients) return entry->Wrong(fmt::format("{} needs sharedClientsPerGpu", entry->path()));
      TUTTI_ASSIGN(result.clients_by_gpu[name], ReadClients(*clients));
    }
  }
  if (const auto name = root.Find("name")) {
    TUTTI_ASSIGN(result.name, name->Text());
  }
  if (const auto taint = root.Find("shouldTaint")) {
    TUTTI_ASSIGN(result.taint, taint->Boolean());
  }
  return result;
}

}  // namespace tutti::sharing
