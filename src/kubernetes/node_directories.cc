#include "kubernetes/node_directories.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "sharing/offer.h"

namespace tutti::kubernetes {
namespace {

// Containers mount these directories: any user must be able to traverse them.
Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Fail(fmt::format("cannot make {}: {}", path, error.message()));
  if (chmod(path.c_str(), 0755) != 0) return FailErrno("cannot open up " + path);
  if (std::filesystem::exists("/sys/fs/selinux/enforce")) {
    constexpr std::string_view kLabel = "system_u:object_r:container_file_t:s0";
    if (lsetxattr(path.c_str(), "security.selinux", kLabel.data(), kLabel.size(), 0) != 0) {
      log::Warning("cannot label {} for containers (SELinux): {}", path, std::strerror(errno));
    }
  }
  return {};
}

// The resource in the directory's name: NVIDIA runs a daemon per resource, we run one for all.
std::string FirstResource(const sharing::Config& config) {
  const auto offers = sharing::MakeOffers(config, {});
  return offers && !offers->empty() ? offers->front().resource : "nvidia.com/gpu";
}

}  // namespace

Result<control::Places> PrepareDirectories(const sharing::Config& config) {
  const std::string base = config.flags.mps_root + "/" + FirstResource(config);
  control::Places places{base + "/pipe", base + "/log"};
  for (const std::string& path : {places.pipe_directory, places.log_directory, config.flags.mps_root + "/shm"})
    TUTTI_TRY(MakeDirectory(path));
  setenv("CUDA_MPS_PIPE_DIRECTORY", places.pipe_directory.c_str(), 1);
  setenv("CUDA_MPS_LOG_DIRECTORY", places.log_directory.c_str(), 1);
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
  return places;
}

}  // namespace tutti::kubernetes
