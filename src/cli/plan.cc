// tutti plan: computes the number of nodes before they are bought.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/format.h"
#include "cli/subcommands.h"
#include "sharing/castai_template.h"
#include "sharing/document.h"
#include "sharing/packing.h"
#include "sharing/plan_input.h"

namespace tutti::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlanCommand {
  std::string node_template, pods, nodes;
  bool json = false;
};

Json AsJson(const sharing::Packing& packing) {
  Json nodes = Json::array();
  for (const sharing::PackedNode& node : packing.nodes) {
    Json gpus = Json::array();
    for (const sharing::PackedGpu& gpu : node.gpus) gpus.push_back(gpu.pods);
    nodes.push_back({{"gpus", gpus}});
  }
  return {{"node_type", packing.type.name},
          {"gpu", packing.type.gpu},
          {"clients_per_gpu", packing.clients_per_gpu},
          {"extended_capacity_per_node", packing.clients_per_gpu * packing.type.gpus},
          {"node_count", packing.nodes.size()},
          {"price_per_hour", packing.price},
          {"free_places", packing.free_places},
          {"wasted_memory_bytes", packing.wasted_memory_bytes},
          {"wasted_compute_gpus", packing.wasted_compute_gpus},
          {"nodes", nodes}};
}

// "inference x4, batch x2"
std::string Grouped(const std::vector<std::string>& pods) {
  std::map<std::string, int> counts;
  for (const std::string& pod : pods) ++counts[pod];
  std::string text;
  for (const auto& [pod, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", pod, count > 1 ? fmt::format(" x{}", count) : "");
  return text.empty() ? "(free)" : text;
}

std::string AsText(const sharing::Plan& plan, size_t unshared_nodes) {
  std::vector<std::vector<std::string>> rows = {
      {"NODE TYPE", "NODES", "PER HOUR", "SHARES/NODE", "FREE SHARES", "UNUSED GPU MEMORY", "UNUSED GPUS"}};
  for (const sharing::Packing& packing : plan.packings) {
    rows.push_back({packing.type.name, std::to_string(packing.nodes.size()),
                    packing.price > 0 ? fmt::format("{:.2f}", packing.price) : "-",
                    std::to_string(packing.clients_per_gpu * packing.type.gpus), std::to_string(packing.free_places),
                    Bytes(static_cast<uint64_t>(std::max(0.0, packing.wasted_memory_bytes))),
                    fmt::format("{:.2f}", packing.wasted_compute_gpus)});
  }
  const sharing::Packing& best = plan.packings.front();
  std::string text = Table(rows, {1, 2, 3, 4, 5, 6});
  for (const std::string& why : plan.refused) text += why + "\n";
  text += fmt::format("\n{} of {}, where unshared GPUs would need {}:\n", Plural(best.nodes.size(), "node"),
                      best.type.name, unshared_nodes);
  for (size_t node = 0; node < best.nodes.size(); ++node) {
    for (size_t gpu = 0; gpu < best.nodes[node].gpus.size(); ++gpu) {
      text += fmt::format("  node {} GPU {}: {}\n", node, gpu, Grouped(best.nodes[node].gpus[gpu].pods));
    }
  }
  return text;
}

Result<std::string> Plan(const PlanCommand& command) {
  TUTTI_ASSIGN(const std::string template_text, sharing::ReadFile(command.node_template));
  TUTTI_ASSIGN(const sharing::Value template_value, sharing::ReadDocument(template_text, command.node_template));
  TUTTI_ASSIGN(const sharing::NodeTemplate node_template, sharing::ReadNodeTemplate(template_value));
  TUTTI_ASSIGN(const std::string pod_text, sharing::ReadFile(command.pods));
  TUTTI_ASSIGN(const std::vector<sharing::PodDemand> pods, sharing::ReadPods(pod_text, command.pods));
  TUTTI_ASSIGN(const std::string node_text, sharing::ReadFile(command.nodes));
  TUTTI_ASSIGN(const std::vector<sharing::NodeType> types, sharing::ReadNodeTypes(node_text, command.nodes));
  TUTTI_ASSIGN(const sharing::Plan plan, sharing::PackAll(node_template, types, pods));
  if (command.json) {
    Json list = Json::array();
    for (const sharing::Packing& packing : plan.packings) list.push_back(AsJson(packing));
    return list.dump(2) + "\n";
  }
  sharing::NodeTemplate unshared = node_template;
  unshared.strategy = sharing::Strategy::kNone;
  const auto without = sharing::Pack(unshared, plan.packings.front().type, pods);
  return AsText(plan, without ? without->nodes.size() : 0);
}

}  // namespace

void AddPlan(Command& tutti) {
  Command& plan = tutti.AddCommand(
      "plan", "Compute how many nodes a set of pods needs under a node template, and what stays unused");
  const auto command = std::make_shared<PlanCommand>();
  plan.AddOption("--template", &command->node_template, "Cast AI node template with its gpu object (JSON or YAML)")
      .Required();
  plan.AddOption("--pods", &command->pods, "Manifests of pods, deployments, ...; - is stdin").Required();
  plan.AddOption("--nodes", &command->nodes,
                 "Node types: {nodeTypes: [{name, gpu, gpus, gpuMemory, cpu, memory, price}]}")
      .Required();
  plan.AddFlag("--json", &command->json, "As JSON");
  plan.Do([command] {
    const auto text = Plan(*command);
    if (!text) return Complain(text.error().text);
    std::fputs(text->c_str(), stdout);
    return 0;
  });
}

}  // namespace tutti::cli
