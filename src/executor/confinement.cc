#include "executor/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "os/confinement/call_filter.h"
#include "os/confinement/domain.h"
#include "os/confinement/sanitized.h"
#include "os/program.h"

namespace tutti::executor {
namespace {

// What libseccomp may be too old to know.
constexpr int kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466, kFileSetattr = 469;

constexpr int kMoreForbidden[] = {
    SCMP_SYS(connect), SCMP_SYS(mq_open), SCMP_SYS(mq_unlink),
    // What a file is, and may be run as: no domain governs it, and of the user's files all are the executor's.
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), kFchmodat2, SCMP_SYS(removexattr), SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr), kSetxattrat, kRemovexattrat, kFileSetattr,
    // Before Linux 6.2 a domain does not govern this; the flags of openat2 are in memory.
    SCMP_SYS(truncate), SCMP_SYS(openat2)};

// A file that is made with one of these bits.
constexpr os::RefusedCall MadeWith(int number, uint32_t flags, uint64_t bit) {
  os::RefusedCall call = os::RefuseWhere(number, flags, O_CREAT, O_CREAT);
  call.also_argument = flags + 1;
  call.also_mask = bit;
  return call;
}

constexpr uint64_t kEmptying = O_ACCMODE | O_TRUNC;  // with O_RDONLY, which asks for no right to write
constexpr uint64_t kKind = 0xe, kDatagrams = SOCK_DGRAM;  // and SOCK_RAW: they need no connection
constexpr uint64_t kIoPriorityOfProcess = 1;
constexpr os::RefusedCall kMoreByArgument[] = {
    // Where memory lies, and what goes first, a driver may say of its own process.
    os::RefuseUnless(SCMP_SYS(migrate_pages), 0, 0),
    os::RefuseUnless(SCMP_SYS(move_pages), 0, 0),
    os::RefuseUnless(SCMP_SYS(setpriority), 0, PRIO_PROCESS),
    os::RefuseUnless(SCMP_SYS(setpriority), 1, 0),
    os::RefuseUnless(SCMP_SYS(ioprio_set), 0, kIoPriorityOfProcess),
    os::RefuseUnless(SCMP_SYS(ioprio_set), 1, 0),
    os::RefuseUnless(SCMP_SYS(sched_setscheduler), 0, 0),
    os::RefuseUnless(SCMP_SYS(sched_setparam), 0, 0),
    os::RefuseUnless(SCMP_SYS(sched_setattr), 0, 0),
    os::RefuseWhere(SCMP_SYS(socket), 1, kKind, kDatagrams),
    os::RefuseWhere(SCMP_SYS(socketpair), 1, kKind, kDatagrams),
    os::RefuseWhere(SCMP_SYS(open), 1, kEmptying, O_TRUNC),
    os::RefuseWhere(SCMP_SYS(openat), 2, kEmptying, O_TRUNC),
    MadeWith(SCMP_SYS(open), 1, S_ISUID),
    MadeWith(SCMP_SYS(open), 1, S_ISGID),
    MadeWith(SCMP_SYS(openat), 2, S_ISUID),
    MadeWith(SCMP_SYS(openat), 2, S_ISGID),
    os::RefuseWhere(SCMP_SYS(creat), 1, S_ISUID, S_ISUID),
    os::RefuseWhere(SCMP_SYS(creat), 1, S_ISGID, S_ISGID),
};

// Files that are there when the executor starts: a domain's rules are of these.
std::vector<std::string> Devices() {
  std::vector<std::string> devices{"/dev/null", "/dev/zero", "/dev/shm", "/dev/dxg"};
  std::error_code error;
  for (std::filesystem::directory_iterator at("/dev", error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("nvidia")) devices.push_back(at->path());
  }
  return devices;
}

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

constexpr const char* kVariable = "TUTTI_EXECUTORS_UNCONFINED";

bool IsLeftOut(const std::string& what) { return (',' + os::Environment(kVariable) + ',').contains(',' + what + ','); }

Status LeftOut(const std::string& what) { return Fail(std::string(kVariable) + " leaves out the " + what); }

}  // namespace

Status CheckWhatIsLeftOut() {
  std::string unknown;
  for (const auto part : std::views::split(os::Environment(kVariable), ',')) {
    const std::string_view word(part);
    if (!word.empty() && word != "memory" && word != "domain" && word != "filter")
      unknown += fmt::format("{}\"{}\"", unknown.empty() ? "" : ", ", word);
  }
  if (unknown.empty()) return {};
  return Fail(fmt::format("{} has {}, which is none of memory, domain and filter", kVariable, unknown));
}

Status HideMemory() {
  if (IsLeftOut("memory")) return LeftOut("memory");
  if (!os::kSanitized) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return {};
}

Status EnterDomain(bool driver_is_ours) {
  if (IsLeftOut("domain")) return LeftOut("domain");
  if (driver_is_ours) return os::EnterDomain({.starts_programs = true, .written_below = {}});
  std::vector<std::string> written = Devices();
  if (const std::string cache = CacheFolder(); !cache.empty()) written.push_back(cache);
  return os::EnterDomain({.starts_programs = false, .written_below = std::move(written)});
}

Status FilterSystemCalls() {
  if (IsLeftOut("filter")) return LeftOut("filter");
  return os::FilterCalls(kMoreForbidden, kMoreByArgument);
}

}  // namespace tutti::executor
