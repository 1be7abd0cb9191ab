#include "os/memory_nodes.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace tutti::os {
namespace {

std::optional<int> Number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::vector<int> ProcessorsIn(std::string_view list) {
  std::vector<int> processors;
  while (!list.empty() && list.back() == '\n') list.remove_suffix(1);
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view range = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const size_t dash = range.find('-');
    const std::optional<int> first = Number(range.substr(0, dash));
    const std::optional<int> last = dash == std::string_view::npos ? first : Number(range.substr(dash + 1));
    if (!first || !last) continue;
    for (int i = *first; i <= std::min(*last, CPU_SETSIZE - 1); ++i) processors.push_back(i);
  }
  return processors;
}

std::vector<size_t> SpreadOverNodes(const std::vector<std::vector<int>>& nodes, size_t count) {
  std::vector<size_t> node_of_processor;
  for (size_t node = 0; node < nodes.size(); ++node)
    node_of_processor.insert(node_of_processor.end(), nodes[node].size(), node);
  std::vector<size_t> spread;
  if (node_of_processor.empty()) return spread;
  for (size_t i = 0; i < count; ++i) spread.push_back(node_of_processor[i * node_of_processor.size() / count]);
  return spread;
}

std::vector<std::vector<int>> NodesOfThisThread() {
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) != 0) return {};
  std::map<int, std::vector<int>> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename();
    const std::optional<int> node = name.starts_with("node") ? Number(std::string_view(name).substr(4)) : std::nullopt;
    if (!node) continue;
    std::string list;
    std::ifstream file(entry.path() / "cpulist");
    std::getline(file, list);
    std::vector<int> processors = ProcessorsIn(list);
    std::erase_if(processors, [&](int processor) { return !CPU_ISSET(processor, &own); });
    if (!processors.empty()) nodes[*node] = std::move(processors);
  }
  std::vector<std::vector<int>> in_order;
  for (auto& [node, processors] : nodes) in_order.push_back(std::move(processors));
  return in_order;
}

void StayOn(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  if (CPU_COUNT(&set) != 0) sched_setaffinity(0, sizeof set, &set);
}

}  // namespace tutti::os
