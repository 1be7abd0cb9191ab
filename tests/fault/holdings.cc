#include "holdings.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace tutti::fault {
namespace {

size_t CountEntries(const std::string& directory) {
  std::error_code error;
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory, error)) ++count;
  return count;
}

size_t CountThreads(const std::string& tasks) {
  std::error_code error;
  size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::string name;
    std::ifstream file(task.path() / "comm");
    std::getline(file, name);
    count += name != "loader" && name != "reaper";
  }
  return count;
}

// Inodes of the mapped memory files with this name prefix: one file may be mapped in several parts.
size_t CountFiles(pid_t server, const std::string& name) {
  std::set<std::string> inodes;
  std::ifstream maps(fmt::format("/proc/{}/maps", server));
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) == std::string::npos) continue;
    char inode[32] = "";
    if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %31s", inode) == 1) inodes.insert(inode);
  }
  return inodes.size();
}

}  // namespace

Holdings HoldingsOf(pid_t server) {
  const std::string proc = fmt::format("/proc/{}/", server);
  Holdings holdings{CountEntries(proc + "fd"), CountThreads(proc + "task"), CountFiles(server, "memfd:tutti-"), 0};
  std::ifstream status(proc + "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) holdings.resident_bytes = std::strtoul(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return holdings;
}

size_t WindowsOf(pid_t server) { return CountFiles(server, "memfd:tutti-window"); }

namespace {

// The numbers that the daemon answers, one to a line.
std::vector<pid_t> Numbers(const std::string& control, const std::string& command) {
  std::vector<pid_t> numbers;
  FILE* const pipe = popen(("echo " + command + " | '" + control + "'").c_str(), "r");
  if (pipe == nullptr) return numbers;
  for (char line[128]; std::fgets(line, sizeof line, pipe) != nullptr;) numbers.push_back(std::atoi(line));
  pclose(pipe);
  return numbers;
}

}  // namespace

pid_t FirstServer(const std::string& control) {
  const std::vector<pid_t> servers = Numbers(control, "get_server_list");
  return servers.empty() ? 0 : servers[0];
}

std::vector<pid_t> ClientsOf(const std::string& control, pid_t server) {
  return Numbers(control, "get_client_list " + std::to_string(server));
}

}  // namespace tutti::fault
