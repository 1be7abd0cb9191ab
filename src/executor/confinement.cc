#include "executor/confinement.h"

#include <seccomp.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "os/confinement/call_filter.h"
#include "os/confinement/domain.h"
#include "os/confinement/sanitized.h"
#include "os/program.h"

namespace tutti::executor {
namespace {

// Where memory lies a driver may say, of its own process.
constexpr int kMoreForbidden[] = {SCMP_SYS(connect)};
constexpr os::RefusedCall kOfOthers[] = {
    {.number = SCMP_SYS(migrate_pages), .argument = 0, .equal = false, .mask = ~0ull, .value = 0},
    {.number = SCMP_SYS(move_pages), .argument = 0, .equal = false, .mask = ~0ull, .value = 0},
};

// Where the vendor's driver keeps what it has compiled. Made here, since it can make no folder beside it.
std::string CacheFolder() {
  std::string folder = os::Environment("CUDA_CACHE_PATH");
  if (folder.empty()) {
    const std::string home = os::Environment("HOME");
    if (home.empty()) return "";
    folder = home + "/.nv/ComputeCache";
  }
  std::error_code ignored;  // then it has no cache
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

}  // namespace

void HideMemory() {
  if (!os::kSanitized) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

Status EnterDomain(bool driver_is_ours) {
  if (driver_is_ours) return os::EnterDomain({.starts_programs = true, .written_below = {}});
  std::vector<std::string> written{"/dev"};
  if (const std::string cache = CacheFolder(); !cache.empty()) written.push_back(cache);
  return os::EnterDomain({.starts_programs = false, .written_below = std::move(written)});
}

Status FilterSystemCalls() { return os::FilterCalls(kMoreForbidden, kOfOthers); }

}  // namespace tutti::executor
