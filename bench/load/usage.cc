#include "load/usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace bench {
namespace {

constexpr const char* kVariable = "CUDA_MPS_PIPE_DIRECTORY";

// A directory that is not there: no daemon is.
std::string NoDirectory() { return fmt::format("/tmp/tutti-bench-no-daemon.{}", getuid()); }

bool HasVariable(const std::filesystem::path& process, const std::string& definition) {
  std::ifstream environment(process / "environ");
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry == definition) return true;
  }
  return false;
}

// The sum of the numbers behind the words that end so: the fields of /proc/PID/status and smaps_rollup.
uint64_t Sum(const std::filesystem::path& path, const char* begin, const char* end) {
  std::ifstream file(path);
  uint64_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(begin) || !line.substr(0, colon).ends_with(end)) continue;
    sum += std::strtoull(line.c_str() + colon + 1, nullptr, 10);
  }
  return sum;
}

// The processes of this build that have the daemon, or none, and the programs that they run.
template <typename Visit>
void ForEachProcess(bool without_daemon, Visit visit) {
  namespace fs = std::filesystem;
  const char* const own = std::getenv(kVariable);
  const std::string directory = without_daemon ? NoDirectory() : own != nullptr ? own : "";
  const std::string definition = fmt::format("{}={}", kVariable, directory);
  const std::string build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const auto& process : fs::directory_iterator("/proc")) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || std::atoi(name.c_str()) == getpid()) continue;
    std::error_code gone;
    const fs::path program = fs::read_symlink(process.path() / "exe", gone);
    if (gone || !program.string().starts_with(build + "/") || !HasVariable(process.path(), definition)) continue;
    visit(process.path(), program);
  }
}

}  // namespace

void ForgetDaemon() { setenv(kVariable, NoDirectory().c_str(), 1); }

Usage UsageOf(bool without_daemon) {
  Usage usage;
  ForEachProcess(without_daemon, [&usage](const std::filesystem::path& process, const auto&) {
    ++usage.processes;
    usage.proportional_bytes += Sum(process / "smaps_rollup", "Pss", "Pss") * 1024;
    std::error_code gone;
    for (const auto& thread : std::filesystem::directory_iterator(process / "task", gone))
      usage.switches += Sum(thread.path() / "status", "", "voluntary_ctxt_switches");
  });
  if (usage.processes == 0 || usage.proportional_bytes == 0) {
    fmt::print(stderr, "bench: the memory of the benchmark's own processes cannot be read\n");
    std::exit(1);
  }
  return usage;
}

void AwaitEndOfCompilers() {
  for (bool any = true; any;) {
    any = false;
    ForEachProcess(false, [&any](const auto&, const auto& program) { any |= program.filename() == "tutti-compiler"; });
    if (any) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace bench
