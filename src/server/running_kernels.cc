#include "server/running_kernels.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/session.h"

namespace tutti::server {
namespace {

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

std::string RunningLine(const ClientInfo& client, uint32_t device, const device::Space::RunningKernel& kernel) {
  const nlohmann::ordered_json line = {
      {"id", client.id},       {"device", device},      {"kernel", kernel.name},
      {"grid", kernel.grid},   {"block", kernel.block}, {"blocks", kernel.blocks},
      {"begun", kernel.begun}, {"done", kernel.done},   {"seconds", Seconds(kernel.running_ns)},
  };
  // Names come from clients: invalid UTF-8 in them is replaced.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string RunningAnswer(std::span<const std::vector<std::string>> clients, size_t most_bytes) {
  std::string answer;
  size_t left_out = 0;
  for (size_t i = 0; i < clients.size(); ++i) {
    const size_t most = answer.size() + (most_bytes - answer.size()) / (clients.size() - i);
    for (const std::string& line : clients[i]) {
      if (answer.size() + line.size() <= most) {
        answer += line;
      } else {
        ++left_out;
      }
    }
  }
  return left_out == 0 ? answer : answer + nlohmann::json{{"left_out", left_out}}.dump() + "\n";
}

std::string RunningText(const device::Space::RunningKernel& kernel) {
  return fmt::format("kernel {}, grid ({},{},{}), {} of {} blocks done, {} begun, for {:.1f} s", kernel.name,
                     kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.done, kernel.blocks, kernel.begun,
                     Seconds(kernel.running_ns));
}

}  // namespace tutti::server
