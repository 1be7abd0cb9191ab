#include "sharing/plan_input.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sharing/document.h"
#include "sharing/quantity.h"

namespace tutti::sharing {
namespace {

Result<double> ReadQuantity(const Value& value) {
  TUTTI_ASSIGN(const std::string text, value.Text());
  const auto quantity = ParseQuantity(text);
  return quantity ? quantity : value.Wrong(quantity.error().text);
}

Result<uint64_t> ReadBytes(const Value& value) {
  TUTTI_ASSIGN(const std::string text, value.Text());
  const auto bytes = ParseBytes(text);
  return bytes ? bytes : value.Wrong(bytes.error().text);
}

Result<std::optional<Value>> Path(const Value& from, std::initializer_list<std::string_view> keys) {
  std::optional<Value> at = from;
  for (const std::string_view key : keys) {
    if (!at) break;
    if (!at->IsMap()) return at->Wrong(fmt::format("{} must be a map", at->path()));
    at = at->Find(key);
  }
  return at;
}

Status ReadContainer(const Value& container, PodDemand& pod) {
  TUTTI_ASSIGN(const auto requests, Path(container, {"resources", "requests"}));
  TUTTI_ASSIGN(const auto limits, Path(container, {"resources", "limits"}));
  // A limit without a request implies an equal request. For an extended resource they are the same anyway.
  const auto asked = [&](const char* name) {
    auto found = requests ? requests->Find(name) : std::nullopt;
    return found || !limits ? found : limits->Find(name);
  };
  if (const auto gpu = asked("nvidia.com/gpu")) {
    TUTTI_ASSIGN(const double gpus, ReadQuantity(*gpu));
    if (gpus != std::floor(gpus) || gpus > 1000)
      return gpu->Wrong(fmt::format("nvidia.com/gpu must be a whole number, but is {}", gpu->Shown()));
    pod.gpus += static_cast<int64_t>(gpus);
  }
  if (const auto cpu = asked("cpu")) {
    TUTTI_ASSIGN(const double cpus, ReadQuantity(*cpu));
    pod.cpus += cpus;
  }
  if (const auto memory = asked("memory")) {
    TUTTI_ASSIGN(const double bytes, ReadQuantity(*memory));
    pod.memory_bytes += bytes;
  }
  return {};
}

Status ReadAnnotations(const Value& metadata, PodDemand& pod) {
  const auto annotations = metadata.Find("annotations");
  if (!annotations) return {};
  if (const auto memory = annotations->Find("tutti.dev/memory")) {
    TUTTI_ASSIGN(pod.gpu_memory_bytes, ReadBytes(*memory));
  }
  if (const auto threads = annotations->Find("tutti.dev/threads")) {
    TUTTI_ASSIGN(const double percentage, ReadQuantity(*threads));
    if (percentage <= 0 || percentage > 100)
      return threads->Wrong("tutti.dev/threads must be a percentage above 0 and at most 100");
    pod.gpu_percentage = percentage;
  }
  return {};
}

// A pod, or the pod template of a workload.
Status ReadPodSpec(const Value& pod_value, PodDemand& pod) {
  if (const auto metadata = pod_value.Find("metadata")) TUTTI_TRY(ReadAnnotations(*metadata, pod));
  const auto spec = pod_value.Find("spec");
  if (!spec) return pod_value.Wrong(fmt::format("{} needs a spec", pod.name));
  if (const auto host_ipc = spec->Find("hostIPC")) {
    TUTTI_ASSIGN(pod.host_ipc, host_ipc->Boolean());
  }
  if (const auto containers = spec->Find("containers")) {
    TUTTI_ASSIGN(const std::vector<Value> items, containers->Items());
    for (const Value& container : items) TUTTI_TRY(ReadContainer(container, pod));
  }
  if (const auto tolerations = spec->Find("tolerations")) {
    TUTTI_ASSIGN(const std::vector<Value> items, tolerations->Items());
    for (const Value& toleration : items) {
      const auto key = toleration.Find("key");
      pod.tolerated_keys.push_back(key ? key->Shown() : "*");
    }
  }
  TUTTI_ASSIGN(const auto selected, Path(*spec, {"nodeSelector", "scheduling.cast.ai/node-template"}));
  if (selected) pod.node_template = selected->Shown();
  return {};
}

Status ReadManifest(const Value& manifest, std::vector<PodDemand>& pods) {
  if (manifest.IsNull()) return {};
  const auto kind = manifest.Find("kind");
  if (!kind) return manifest.Wrong("a manifest needs its kind: Pod, Deployment, ...");
  const std::string word = kind->Shown();
  if (word == "List") {
    const auto items = manifest.Find("items");
    if (!items) return {};
    TUTTI_ASSIGN(const std::vector<Value> list, items->Items());
    for (const Value& item : list) TUTTI_TRY(ReadManifest(item, pods));
    return {};
  }
  const bool makes_pods = word == "Deployment" || word == "StatefulSet" || word == "ReplicaSet" || word == "Job";
  if (word != "Pod" && !makes_pods) return {};
  PodDemand pod;
  TUTTI_ASSIGN(const auto name, Path(manifest, {"metadata", "name"}));
  pod.name = name ? name->Shown() : word;
  if (word == "Pod") {
    TUTTI_TRY(ReadPodSpec(manifest, pod));
  } else {
    TUTTI_ASSIGN(const auto count, Path(manifest, {"spec", word == "Job" ? "parallelism" : "replicas"}));
    if (count) {
      TUTTI_ASSIGN(pod.count, count->Integer());
      if (pod.count < 0 || pod.count > 100'000)
        return count->Wrong(fmt::format("{} must be from 0 to 100000", count->path()));
    }
    TUTTI_ASSIGN(const auto pod_template, Path(manifest, {"spec", "template"}));
    if (!pod_template) return manifest.Wrong(fmt::format("{} {} needs spec.template", word, pod.name));
    TUTTI_TRY(ReadPodSpec(*pod_template, pod));
  }
  pods.push_back(std::move(pod));
  return {};
}

Result<NodeType> ReadNodeType(const Value& value) {
  TUTTI_TRY(value.OnlyKeys({"name", "gpu", "gpus", "gpuMemory", "computeCapability", "cpu", "memory", "price"}));
  NodeType type;
  const auto name = value.Find("name");
  const auto gpu = value.Find("gpu");
  const auto gpu_memory = value.Find("gpuMemory");
  if (!name || !gpu || !gpu_memory) return value.Wrong("a node type needs name, gpu and gpuMemory");
  TUTTI_ASSIGN(type.name, name->Text());
  TUTTI_ASSIGN(type.gpu, gpu->Text());
  TUTTI_ASSIGN(type.gpu_memory_bytes, ReadBytes(*gpu_memory));
  if (const auto gpus = value.Find("gpus")) {
    TUTTI_ASSIGN(type.gpus, gpus->Integer());
    if (type.gpus < 1 || type.gpus > 64)
      return gpus->Wrong(fmt::format("gpus must be from 1 to 64, but are {}", type.gpus));
  }
  const std::pair<const char*, double*> numbers[] = {{"cpu", &type.cpus},
                                                     {"memory", &type.memory_bytes},
                                                     {"price", &type.price},
                                                     {"computeCapability", &type.compute_capability}};
  for (const auto& [key, to] : numbers) {
    if (const auto number = value.Find(key)) {
      TUTTI_ASSIGN(*to, ReadQuantity(*number));
    }
  }
  return type;
}

}  // namespace

Result<std::vector<PodDemand>> ReadPods(std::string_view text, const std::string& name) {
  TUTTI_ASSIGN(const std::vector<Value> documents, ReadDocuments(text, name));
  std::vector<PodDemand> pods;
  for (const Value& document : documents) TUTTI_TRY(ReadManifest(document, pods));
  if (pods.empty())
    return Fail(fmt::format("{}: no pods: give manifests of Pod, Deployment, StatefulSet, ReplicaSet or Job", name));
  return pods;
}

Result<std::vector<NodeType>> ReadNodeTypes(std::string_view text, const std::string& name) {
  TUTTI_ASSIGN(const Value root, ReadDocument(text, name));
  TUTTI_TRY(root.OnlyKeys({"nodeTypes"}));
  const auto list = root.Find("nodeTypes");
  if (!list) return root.Wrong("nodeTypes: is missing: a list of {name, gpu, gpuMemory, ...}");
  TUTTI_ASSIGN(const std::vector<Value> items, list->Items());
  if (items.empty()) return list->Wrong("nodeTypes is empty: name at least one");
  std::vector<NodeType> types;
  for (const Value& item : items) {
    TUTTI_ASSIGN(NodeType type, ReadNodeType(item));
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace tutti::sharing
