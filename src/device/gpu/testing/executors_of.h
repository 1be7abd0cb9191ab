// The executors that a backend's spawner has started, and that have not ended.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tutti::device::gpu {

// The oldest first.
inline std::vector<pid_t> ExecutorsOf(pid_t spawner) {
  const std::string number = std::to_string(spawner);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> children{std::istream_iterator<pid_t>(file), {}};
  std::erase_if(children, [](pid_t child) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm"), name);
    return !name.starts_with("tutti-executor");
  });
  return children;
}

}  // namespace tutti::device::gpu
