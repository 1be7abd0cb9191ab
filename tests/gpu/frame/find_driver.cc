#include "frame/find_driver.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "frame/files.h"
#include "frame/process.h"

namespace tutti::gpu {
namespace {

std::string Resolved(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) == nullptr ? path : real;
}

// What the loader would take, in its order.
std::vector<std::string> LoadersCache() {
  std::vector<std::string> paths;
  const std::string ldconfig = FindProgram("ldconfig");
  FILE* const list = ldconfig.empty() ? nullptr : popen((ldconfig + " -p 2> /dev/null").c_str(), "r");
  if (list == nullptr) return paths;
  char line[PATH_MAX + 256];
  while (std::fgets(line, sizeof line, list) != nullptr) {
    const std::string text = line;
    const size_t arrow = text.find("=> ");
    if (text.find("\tlibcuda.so.1 ") == std::string::npos || text.find("x86-64") == std::string::npos ||
        arrow == std::string::npos)
      continue;
    paths.push_back(text.substr(arrow + 3, text.find_last_not_of('\n') - arrow - 2));
  }
  pclose(list);
  return paths;
}

}  // namespace

bool IsOurs(const std::string& library) { return FileContains(library, "tuttiVersion"); }

FoundDriver FindDriver() {
  std::vector<std::string> candidates = LoadersCache();
  for (const char* folder : {"/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
                             "/run/opengl-driver/lib"})
    candidates.push_back(std::string(folder) + "/libcuda.so.1");
  FoundDriver found;
  std::set<std::string> seen;
  for (const std::string& candidate : candidates) {
    if (!seen.insert(candidate).second) continue;
    const bool there = access(candidate.c_str(), R_OK) == 0;
    if (there && !IsOurs(candidate)) {
      found.path = Resolved(candidate);
      return found;
    }
    found.looked += (found.looked.empty() ? "" : ", ") + candidate + (there ? " (Tutti's own)" : "");
  }
  return found;
}

bool HasDeviceFile() {
  for (const std::string& name : FilesIn("/dev")) {
    if (name.starts_with("nvidia") && name.size() > 6 && name.find_first_not_of("0123456789", 6) == std::string::npos)
      return true;
  }
  return access("/dev/dxg", F_OK) == 0;
}

std::string FindNvidiaProgram(const std::string& name) {
  for (const char* folder :
       {"/usr/bin", "/usr/local/nvidia/bin", "/usr/local/bin", "/opt/nvidia/bin", "/run/opengl-driver/bin"}) {
    const std::string path = std::string(folder) + "/" + name;
    if (access(path.c_str(), X_OK) == 0 && !FileContains(Resolved(path), "tutti-server")) return path;
  }
  return "";
}

}  // namespace tutti::gpu
