// `tutti faults`: which programs' kernels have failed lately, and where.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/format.h"
#include "cli/subcommands.h"
#include "control/daemon_connection.h"
#include "cuda/result.h"

namespace tutti::cli {
namespace {

using Json = nlohmann::json;

std::string Time(uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000u);
  tm local{};
  localtime_r(&seconds, &local);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string Place(const Json& fault, const char* key) {
  if (!fault.contains(key)) return "-";
  const auto place = fault[key].get<std::array<uint32_t, 3>>();
  return fmt::format("{},{},{}", place[0], place[1], place[2]);
}

std::string Line(const Json& fault) {
  if (fault.contains("source")) return fmt::format("{}:{}", fault["source"].value("file", ""), fault["source"].value("line", 0));
  return fault.contains("ptx_line") ? fmt::format("PTX {}", fault["ptx_line"].get<uint32_t>()) : "-";
}

std::string ErrorName(int status) {
  const char* const name = cuda::ResultName(status);
  return name != nullptr ? name : std::to_string(status);
}

// The report on a line of its own below: it is long, and has all of it.
std::string FaultTable(const std::vector<Json>& faults) {
  std::vector<std::vector<std::string>> rows{{"TIME", "PID", "USER", "ERROR", "KERNEL", "BLOCK", "THREAD", "ADDRESS", "LINE", "COMMAND"}};
  for (const Json& fault : faults) {
    rows.push_back({Time(fault.value("time_ns", uint64_t{0})), std::to_string(fault.value("pid", 0u)), UserName(fault.value("uid", 0u)),
                    ErrorName(fault.value("status", 0)), Shortened(fault.value("kernel", "-"), 40), Place(fault, "block"),
                    Place(fault, "thread"), fault.contains("address") ? fmt::format("{:#x}", fault["address"].get<uint64_t>()) : "-",
                    Shortened(Line(fault), 40), Shortened(CommandName(fault.value("command", "")), 40)});
  }
  std::istringstream table(Table(rows, {1}));
  std::string text, line;
  std::getline(table, line);
  text = line + "\n";
  for (const Json& fault : faults) {
    std::getline(table, line);
    text += line + "\n  " + Shortened(fault.value("report", ""), 400) + "\n";
  }
  return text;
}

int Faults(bool as_json) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  const auto answer = daemon->Run("faults");
  if (!answer) return Complain(answer.error().text);
  if (answer->exit_status != 0) return Complain(answer->text);
  std::vector<Json> faults;
  std::istringstream lines(answer->text);
  for (std::string line; std::getline(lines, line);) {
    Json fault = Json::parse(line, nullptr, false);
    if (!fault.is_object()) return Complain("the daemon does not know `faults`: " + line);
    faults.push_back(std::move(fault));
  }
  if (as_json) {
    std::puts(Json(faults).dump(2).c_str());
  } else if (faults.empty()) {
    std::puts("no kernel of a client of the servers that run now has failed");
  } else {
    std::fputs(FaultTable(faults).c_str(), stdout);
  }
  return 0;
}

}  // namespace

void AddFaults(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("faults", "Show whose kernels have failed: which thread, which address, which line");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->callback([json, &status] { status = Faults(*json); });
}

}  // namespace tutti::cli
