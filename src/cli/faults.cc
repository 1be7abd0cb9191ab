// `tutti faults`: recently failed kernels, of which programs, and where.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/fault_table.h"
#include "cli/subcommands.h"
#include "control/daemon_connection.h"

namespace tutti::cli {
namespace {

void Show(const std::vector<Fault>& faults, bool as_json) {
  if (as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Fault& fault : faults)
      list.push_back(nlohmann::json::parse(fault.json, nullptr, /*allow_exceptions=*/false));
    std::puts(list.dump(2).c_str());
  } else if (faults.empty()) {
    std::puts("no kernel has failed on the servers that run now");
  } else {
    std::fputs(FaultTable(faults).c_str(), stdout);
  }
}

int Faults(bool as_json) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  const auto answer = daemon->Run("faults");
  if (!answer) return Complain(answer.error().text);
  if (answer->exit_status != 0) return Complain(answer->text);
  std::vector<Fault> faults;
  std::string odd;
  std::istringstream lines(answer->text);
  for (std::string line; std::getline(lines, line);) {
    auto fault = ReadFault(line);
    if (fault) {
      faults.push_back(std::move(*fault));
    } else if (odd.empty()) {
      odd = fault.error().text;
    }
  }
  Show(faults, as_json);
  return odd.empty() ? 0 : Complain(odd);
}

}  // namespace

void AddFaults(Command& tutti) {
  Command& faults = tutti.AddCommand("faults", "Show failed kernels: program, thread, address, line");
  const auto json = std::make_shared<bool>(false);
  faults.AddFlag("--json", json.get(), "As JSON");
  faults.Do([json] { return Faults(*json); });
}

}  // namespace tutti::cli
