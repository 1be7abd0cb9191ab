// Checks of the machine and the installed files.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "cli/doctor_checks.h"
#include "cli/format.h"
#include "cli/installation.h"
#include "control/places.h"
#include "os/memory.h"
#include "os/program.h"
#include "os/user_cache.h"

namespace tutti::cli {
namespace {

constexpr rlim_t kEnoughDescriptors = 16384;  // a thousand clients, each with its channel, window and socket

constexpr uint64_t kLeastFreeBytes = 16u << 20;  // some logs and some compiled kernels

// The directory itself, or its closest existing parent.
std::filesystem::path Existing(std::filesystem::path path) {
  std::error_code error;
  while (path.has_parent_path() && path != path.parent_path() && !std::filesystem::exists(path, error))
    path = path.parent_path();
  return path;
}

}  // namespace

Finding CheckPrograms(const Patient&) {
  std::string missing;
  const auto is_here = [](const char* name) {
    return access((os::ProgramDirectory() + "/" + name).c_str(), X_OK) == 0;
  };
  for (const char* name : {"tutti-control", "tutti-server", "tutti-executor", "tutti-fence"}) {
    if (!is_here(name)) missing += std::string(missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty())
    return {Finding::Kind::kProblem, fmt::format("{} missing in {}", missing, os::ProgramDirectory()),
            "build or install them there: ./dev build"};
  if (is_here("tutti-compiler")) return {.text = "programs are in " + os::ProgramDirectory()};
  const std::string device = os::Environment("TUTTI_DEVICE");
  if (device == "cuda")
    return {.text =
                fmt::format("programs are in {}, for GPUs alone: there is no tutti-compiler", os::ProgramDirectory())};
  return {Finding::Kind::kProblem,
          fmt::format("no tutti-compiler in {}, so the CPU device runs no kernels", os::ProgramDirectory()),
          "on a machine with a GPU set TUTTI_DEVICE=cuda for the daemon; else build it there: ./dev build"};
}

Finding CheckLibrary(const Patient&) {
  const auto directory = LibraryDirectory();
  if (!directory) return {Finding::Kind::kProblem, "library not found", directory.error().text};
  const std::string path = *directory + "/libcuda.so.1";
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    return {Finding::Kind::kProblem, fmt::format("{} cannot be loaded: {}", path, dlerror()),
            "build it again: ./dev build"};
  if (dlsym(library, "cuInit") == nullptr)
    return {Finding::Kind::kProblem, path + " has no cuInit", "build it again: ./dev build"};
  return {.text = "library is " + path};
}

Finding CheckProcessor(const Patient&) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {.text = "processor has AVX-512"};
  if (__builtin_cpu_supports("avx2")) return {.text = "processor has AVX2"};
  return {Finding::Kind::kNote, "processor has no AVX2",
          "kernels run, but slowly; a virtual machine may hide AVX2: give it the host's CPU model"};
}

Finding CheckMemoryFiles(const Patient&) {
  const auto file = os::CreateMemory("tutti-doctor", 4096);
  if (file) return {.text = "memory files work (/dev/shm is not used)"};
  return {Finding::Kind::kProblem, file.error().text, "allow memfd_create in this container's seccomp profile"};
}

Finding CheckDescriptorLimit(const Patient&) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kEnoughDescriptors) return {.text = "file descriptors suffice for a thousand clients"};
  return {Finding::Kind::kNote, fmt::format("only {} file descriptors are allowed", limit.rlim_max),
          fmt::format("for many clients start the daemon with ulimit -n {}", kEnoughDescriptors)};
}

Finding CheckDisk(const Patient&) {
  const control::Places places = control::PlacesFromEnvironment();
  for (const std::string& wanted : {os::UserCacheFolder(), places.pipe_directory, places.log_directory}) {
    const std::string directory = Existing(wanted);
    struct statvfs disk{};
    if (statvfs(directory.c_str(), &disk) != 0) continue;
    const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
    if (free < kLeastFreeBytes) {
      return {
          Finding::Kind::kProblem, fmt::format("disk full: {} free in {}", Bytes(free), directory),
          fmt::format("make room there (df {}), or choose another directory: TUTTI_CACHE_DIR, CUDA_MPS_LOG_DIRECTORY",
                      directory)};
    }
    if (disk.f_files != 0 && disk.f_favail == 0) {
      return {Finding::Kind::kProblem, "disk full: no file can be made in " + directory,
              "remove files there (df -i " + directory + ")"};
    }
  }
  return {.text = "disk has room for logs and compiled kernels"};
}

}  // namespace tutti::cli
