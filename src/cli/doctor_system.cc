// Checks of the machine and the installed files.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/doctor_checks.h"
#include "cli/installation.h"
#include "os/memory.h"

namespace tutti::cli {
namespace {

constexpr rlim_t kEnoughDescriptors = 16384;  // a thousand clients, each with its channel, window and socket

std::string PathOf(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "?";
}

}  // namespace

Finding CheckPrograms() {
  std::string missing;
  for (const char* name : {"tutti-control", "tutti-server", "tutti-compiler"}) {
    if (access((ProgramDirectory() + "/" + name).c_str(), X_OK) != 0) missing += std::string(missing.empty() ? "" : ", ") + name;
  }
  if (missing.empty()) return {.text = "programs are in " + ProgramDirectory()};
  return {Finding::Kind::kProblem, fmt::format("{} missing in {}", missing, ProgramDirectory()), "build or install them there: ./dev build"};
}

Finding CheckLibrary() {
  const auto directory = LibraryDirectory();
  if (!directory) return {Finding::Kind::kProblem, "library not found", directory.error().text};
  const std::string path = *directory + "/libcuda.so.1";
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {Finding::Kind::kProblem, fmt::format("{} cannot be loaded: {}", path, dlerror()), "build it again: ./dev build"};
  if (dlsym(library, "cuInit") == nullptr) return {Finding::Kind::kProblem, path + " has no cuInit", "build it again: ./dev build"};
  return {.text = "library is " + path};
}

Finding CheckLoaderPath() {
  const auto ours = LibraryDirectory();
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  std::error_code error;
  for (std::string rest = path != nullptr ? path : ""; ours && !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = rest.substr(0, colon) + "/libcuda.so.1";
    rest.erase(0, std::min(colon + 1, rest.size()));
    if (access(candidate.c_str(), R_OK) != 0) continue;
    if (std::filesystem::equivalent(candidate, *ours + "/libcuda.so.1", error)) return {.text = "programs started from here load our library"};
    return {Finding::Kind::kNote, "programs started from here load " + candidate, "start them with: tutti run -- PROGRAM"};
  }
  void* const standard = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  const std::string found = standard != nullptr ? "load " + PathOf(standard) : "find no libcuda.so.1";
  return {Finding::Kind::kNote, "programs started from here " + found, "start them with: tutti run -- PROGRAM"};
}

Finding CheckProcessor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {.text = "processor has AVX-512"};
  if (__builtin_cpu_supports("avx2")) return {.text = "processor has AVX2"};
  return {Finding::Kind::kNote, "processor has no AVX2", "kernels run, but slowly; a virtual machine may hide AVX2: give it the host's CPU model"};
}

Finding CheckMemoryFiles() {
  const auto file = os::CreateMemory("tutti-doctor", 4096);
  if (file) return {.text = "memory files work (/dev/shm is not used)"};
  return {Finding::Kind::kProblem, file.error().text, "allow memfd_create in this container's seccomp profile"};
}

Finding CheckDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kEnoughDescriptors) return {.text = "file descriptors suffice for a thousand clients"};
  return {Finding::Kind::kNote, fmt::format("only {} file descriptors are allowed", limit.rlim_max),
          fmt::format("for many clients start the daemon with ulimit -n {}", kEnoughDescriptors)};
}

}  // namespace tutti::cli
