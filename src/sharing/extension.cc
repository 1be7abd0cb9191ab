#include "sharing/extension.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharing/quantity.h"
#include "sharing/replication.h"
#include "sharing/resource_name.h"

namespace tutti::sharing {
namespace {

Result<double> ReadRatio(const Value& value) {
  TUTTI_ASSIGN(const double ratio, value.Number());
  if (ratio < 1 || ratio > kMaxReplicas)
    return value.Wrong(fmt::format("{} must be from 1 to {}, but is {}", value.path(), kMaxReplicas, ratio));
  return ratio;
}

Status ReadOversubscription(const Value& value, Extension& extension) {
  TUTTI_TRY(value.OnlyKeys({"threads", "memory"}));
  if (const auto threads = value.Find("threads")) {
    TUTTI_ASSIGN(extension.oversubscribe_threads, ReadRatio(*threads));
  }
  if (const auto memory = value.Find("memory")) {
    TUTTI_ASSIGN(extension.oversubscribe_memory, ReadRatio(*memory));
  }
  return {};
}

Result<Share> ReadShare(const Value& value) {
  TUTTI_TRY(value.OnlyKeys({"resource", "replicas", "threads", "memory"}));
  Share share;
  const auto resource = value.Find("resource");
  if (!resource) return value.Wrong(fmt::format("{} needs a resource name", value.path()));
  TUTTI_ASSIGN(const std::string name, resource->Text());
  auto full = FullResourceName(name);
  if (!full) return resource->Wrong(full.error().text);
  share.resource = std::move(*full);
  if (const auto replicas = value.Find("replicas")) {
    TUTTI_ASSIGN(share.replicas, replicas->Integer());
    if (share.replicas < 1 || share.replicas > kMaxReplicas) {
      return replicas->Wrong(
          fmt::format("replicas of a share must be from 1 to {}, but are {}", kMaxReplicas, share.replicas));
    }
  }
  const auto threads = value.Find("threads");
  if (!threads)
    return value.Wrong(fmt::format("{} needs threads: the percentage of a device that one replica gets", value.path()));
  TUTTI_ASSIGN(share.threads, threads->Number());
  if (share.threads <= 0 || share.threads > 100) {
    return threads->Wrong(fmt::format("threads must be above 0 and at most 100 (percent), but is {}", share.threads));
  }
  if (const auto memory = value.Find("memory")) {
    TUTTI_ASSIGN(const std::string text, memory->Text());
    const auto bytes = ParseBytes(text);
    if (!bytes) return memory->Wrong(bytes.error().text);
    if (*bytes < 1 << 20) return memory->Wrong(fmt::format("memory of a share must be at least 1Mi, but is {}", text));
    share.memory_bytes = *bytes;
  }
  return share;
}

Result<std::string> ReadAbsolutePath(const Value& value) {
  Result<std::string> path = value.Text();
  if (path && !path->starts_with('/'))
    return value.Wrong(fmt::format("{} must be an absolute path, but is {}", value.path(), *path));
  return path;
}

// "0.0.0.0:9400", "[::]:9400".
Result<std::string> ReadAddress(const Value& value) {
  TUTTI_ASSIGN(std::string address, value.Text());
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (colon == 0 || !digits || std::stoi(port) > 65535)
    return value.Wrong(fmt::format("{} must be ADDRESS:PORT, as in 0.0.0.0:9400, but is {}", value.path(), address));
  return address;
}

Status ReadClientLibrary(const Value& value, Extension& extension) {
  TUTTI_TRY(value.OnlyKeys({"hostPath", "containerPath"}));
  ClientLibrary library;
  const auto host = value.Find("hostPath");
  if (!host) return value.Wrong("tutti.clientLibrary needs hostPath: the directory with libcuda.so.1");
  TUTTI_ASSIGN(library.host_path, ReadAbsolutePath(*host));
  if (const auto container = value.Find("containerPath")) {
    TUTTI_ASSIGN(library.container_path, ReadAbsolutePath(*container));
  }
  extension.client_library = std::move(library);
  return {};
}

Status ReadSwitches(const Value& value, Extension& extension) {
  const std::pair<const char*, bool*> switches[] = {
      {"singleReplica", &extension.single_replica}, {"throttle", &extension.throttle},
      {"annotations", &extension.annotations},      {"multiUserServer", &extension.multi_user_server},
      {"startDaemon", &extension.start_daemon},     {"requireClaims", &extension.require_claims},
      {"mountShm", &extension.mount_shm},           {"nodeApi", &extension.node_api}};
  for (const auto& [key, to] : switches) {
    if (const auto found = value.Find(key)) {
      TUTTI_ASSIGN(*to, found->Boolean());
    }
  }
  return {};
}

}  // namespace

Result<Extension> ReadExtension(const Value& value) {
  TUTTI_TRY(value.OnlyKeys({"singleReplica", "throttle", "oversubscription", "limitScope", "annotations",
                            "multiUserServer", "startDaemon", "requireClaims", "mountShm", "shares", "clientLibrary",
                            "metricsAddress", "featureFile", "nodeApi"}));
  Extension extension;
  TUTTI_TRY(ReadSwitches(value, extension));
  if (const auto ratios = value.Find("oversubscription")) TUTTI_TRY(ReadOversubscription(*ratios, extension));
  if (const auto scope = value.Find("limitScope")) {
    TUTTI_ASSIGN(const std::string word, scope->OneOf({"process", "container"}));
    extension.limit_per_container = word == "container";
  }
  if (const auto shares = value.Find("shares")) {
    TUTTI_ASSIGN(const std::vector<Value> items, shares->Items());
    for (const Value& item : items) {
      TUTTI_ASSIGN(Share share, ReadShare(item));
      const auto same = [&](const Share& other) { return other.resource == share.resource; };
      if (std::any_of(extension.shares.begin(), extension.shares.end(), same)) {
        return item.Wrong(fmt::format("resource {} stands twice in tutti.shares: keep one", share.resource));
      }
      extension.shares.push_back(std::move(share));
    }
  }
  if (const auto library = value.Find("clientLibrary")) TUTTI_TRY(ReadClientLibrary(*library, extension));
  if (const auto address = value.Find("metricsAddress")) {
    TUTTI_ASSIGN(extension.metrics_address, ReadAddress(*address));
  }
  if (const auto file = value.Find("featureFile")) {
    TUTTI_ASSIGN(extension.feature_file, ReadAbsolutePath(*file));
  }
  return extension;
}

}  // namespace tutti::sharing
