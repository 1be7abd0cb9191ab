#include "sharing/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tutti::sharing {
namespace {

constexpr double kMiB = 1 << 20;

struct Room {
  double cpus, memory_bytes;
  std::vector<int64_t> places;  // free, by GPU
};

Status CheckPod(const NodeTemplate& node_template, const NodeType& type, int64_t clients, const PodDemand& pod) {
  const auto refuse = [&](std::string why) {
    return Fail(fmt::format("pod {} cannot run on {}: {}", pod.name, type.name, why));
  };
  const double share = static_cast<double>(type.gpu_memory_bytes) / static_cast<double>(clients);
  const bool shared = node_template.strategy == Strategy::kMps;
  if (pod.gpus > type.gpus * clients)
    return refuse(fmt::format("it asks for {} nvidia.com/gpu, a node has {}", pod.gpus, type.gpus * clients));
  if (shared && clients > 1 && pod.gpus > 1)
    return refuse(fmt::format("it asks for {} nvidia.com/gpu; a pod gets one share: ask for 1", pod.gpus));
  if (shared && type.compute_capability < 7.0 && !pod.host_ipc && pod.gpus > 0) {
    return refuse(fmt::format(
        "its GPU is older than Volta (compute capability {:.1f}), where a pod needs hostIPC: true to reach the daemon",
        type.compute_capability));
  }
  if (pod.gpu_memory_bytes && static_cast<double>(*pod.gpu_memory_bytes) > share && pod.gpus > 0) {
    return refuse(fmt::format("it needs {:.0f} MiB of GPU memory, a share has {:.0f} MiB: use fewer clients per GPU",
                              static_cast<double>(*pod.gpu_memory_bytes) / kMiB, share / kMiB));
  }
  if (type.cpus > 0 && pod.cpus > type.cpus)
    return refuse(fmt::format("it asks for {:g} CPUs, a node has {:g}", pod.cpus, type.cpus));
  if (type.memory_bytes > 0 && pod.memory_bytes > type.memory_bytes)
    return refuse(fmt::format("it asks for {:.0f} MiB of memory, a node has {:.0f} MiB", pod.memory_bytes / kMiB,
                              type.memory_bytes / kMiB));
  constexpr const char* kKey = "scheduling.cast.ai/node-template";
  const auto tolerates = [&](const std::string& key) { return key == "*" || key == kKey || key == node_template.name; };
  if (node_template.taint && std::none_of(pod.tolerated_keys.begin(), pod.tolerated_keys.end(), tolerates)) {
    return refuse(fmt::format("the template taints its nodes: add a toleration of key {}", kKey));
  }
  if (!pod.node_template.empty() && !node_template.name.empty() && pod.node_template != node_template.name) {
    return refuse(
        fmt::format("its node selector wants template {}, this one is {}", pod.node_template, node_template.name));
  }
  return {};
}

// Places the pod on the node, and updates `node` and `room`, if it fits.
bool Place(const PodDemand& pod, const NodeType& type, Room& room, PackedNode& node) {
  if ((type.cpus > 0 && room.cpus < pod.cpus) || (type.memory_bytes > 0 && room.memory_bytes < pod.memory_bytes))
    return false;
  int64_t free = 0;
  for (const int64_t places : room.places) free += places;
  if (free < pod.gpus) return false;
  for (int64_t i = 0; i < pod.gpus; ++i) {
    // Best fit: an empty GPU may turn out to be unnecessary.
    size_t best = room.places.size();
    for (size_t gpu = 0; gpu < room.places.size(); ++gpu) {
      if (room.places[gpu] > 0 && (best == room.places.size() || room.places[gpu] < room.places[best])) best = gpu;
    }
    --room.places[best];
    node.gpus[best].pods.push_back(pod.name);
  }
  room.cpus -= pod.cpus;
  room.memory_bytes -= pod.memory_bytes;
  return true;
}

}  // namespace

Result<Packing> Pack(const NodeTemplate& node_template, const NodeType& type, std::span<const PodDemand> pods) {
  Packing packing{.type = type, .clients_per_gpu = node_template.ClientsOf(type.gpu), .nodes = {}};
  std::vector<const PodDemand*> order;
  for (const PodDemand& pod : pods) {
    TUTTI_TRY(CheckPod(node_template, type, packing.clients_per_gpu, pod));
    order.push_back(&pod);
  }
  std::stable_sort(order.begin(), order.end(), [](const PodDemand* a, const PodDemand* b) {
    return std::tuple(a->gpus, a->cpus, a->memory_bytes) > std::tuple(b->gpus, b->cpus, b->memory_bytes);
  });
  std::vector<Room> rooms;
  const double share_bytes = static_cast<double>(type.gpu_memory_bytes) / static_cast<double>(packing.clients_per_gpu);
  double used_bytes = 0, used_gpus = 0;
  int64_t used_places = 0;
  for (const PodDemand* pod : order) {
    size_t at = 0;  // a node without room for one copy has none for the next
    for (int64_t copy = 0; copy < pod->count; ++copy) {
      while (at < rooms.size() && !Place(*pod, type, rooms[at], packing.nodes[at])) ++at;
      if (at == rooms.size()) {
        rooms.push_back({type.cpus, type.memory_bytes,
                         std::vector<int64_t>(static_cast<size_t>(type.gpus), packing.clients_per_gpu)});
        packing.nodes.push_back({std::vector<PackedGpu>(static_cast<size_t>(type.gpus))});
        Place(*pod, type, rooms[at], packing.nodes[at]);
      }
      const auto places = static_cast<double>(pod->gpus);
      used_places += pod->gpus;
      used_bytes += places * (pod->gpu_memory_bytes ? static_cast<double>(*pod->gpu_memory_bytes) : share_bytes);
      used_gpus += places * std::min(pod->gpu_percentage.value_or(100) / 100,
                                     1.0 / static_cast<double>(packing.clients_per_gpu));
    }
  }
  const auto gpus = static_cast<double>(packing.nodes.size()) * static_cast<double>(type.gpus);
  packing.price = type.price * static_cast<double>(packing.nodes.size());
  packing.wasted_memory_bytes = gpus * static_cast<double>(type.gpu_memory_bytes) - used_bytes;
  packing.wasted_compute_gpus = gpus - used_gpus;
  packing.free_places = static_cast<int64_t>(packing.nodes.size()) * type.gpus * packing.clients_per_gpu - used_places;
  return packing;
}

Result<Plan> PackAll(const NodeTemplate& node_template, std::span<const NodeType> types,
                     std::span<const PodDemand> pods) {
  Plan plan;
  for (const NodeType& type : types) {
    auto packing = Pack(node_template, type, pods);
    if (packing)
      plan.packings.push_back(std::move(*packing));
    else
      plan.refused.push_back(packing.error().text);
  }
  if (plan.packings.empty()) return Fail(plan.refused.empty() ? "there are no node types" : plan.refused.front());
  std::stable_sort(plan.packings.begin(), plan.packings.end(), [](const Packing& a, const Packing& b) {
    return std::tuple(a.price, a.nodes.size()) < std::tuple(b.price, b.nodes.size());
  });
  return plan;
}

}  // namespace tutti::sharing
