// For tests of executors that do not go on.
#pragma once

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace tutti::device::gpu {

// Returns when all of its threads have stopped: until then one of them may take another record.
inline void StopProcess(pid_t process) {
  kill(process, SIGSTOP);
  const auto stopped = [](const std::filesystem::path& thread) {
    std::ifstream file(thread / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = stat.rfind(')');
    return name_end == std::string::npos || stat.compare(name_end, 3, ") T") == 0;
  };
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task");
  for (const auto& thread : threads) {
    while (!stopped(thread.path())) std::this_thread::yield();
  }
}

}  // namespace tutti::device::gpu
