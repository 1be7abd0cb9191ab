#include "frame/settings.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace tutti::gpu {
namespace {

std::string Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

}  // namespace

const Settings& Here() {
  static const Settings settings{
      .vendor = Variable("TUTTI_GPU_VENDOR"),
      .mps = Variable("TUTTI_GPU_MPS"),
      .small = Variable("TUTTI_GPU_SMALL") == "1",
      .scratch = Variable("TUTTI_GPU_SCRATCH"),
      .data = OwnDirectory(),
      .step = Variable("TUTTI_GPU_STEP"),
  };
  return settings;
}

void Announce(const Settings& settings) {
  setenv("TUTTI_GPU_VENDOR", settings.vendor.c_str(), 1);
  setenv("TUTTI_GPU_MPS", settings.mps.c_str(), 1);
  setenv("TUTTI_GPU_SMALL", settings.small ? "1" : "0", 1);
  setenv("TUTTI_GPU_SCRATCH", settings.scratch.c_str(), 1);
  setenv("TUTTI_GPU_STEP", settings.step.c_str(), 1);
}

std::string OwnPath() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

std::string OwnDirectory() {
  const std::string path = OwnPath();
  return path.substr(0, path.rfind('/'));
}

}  // namespace tutti::gpu
