#include "device/gpu/lent_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "os/memory.h"

namespace tutti::device::gpu {
namespace {

constexpr uint32_t kDriversMajor = 195;  // of all of NVIDIA's devices that are not others' to number
constexpr const char* kDriversFiles[] = {"/dev/nvidiactl", "/dev/dxg"};

bool IsOfTheDriver(int file) {
  struct statx info{};  // in which a file system of a user's own has no say
  if (statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info) != 0 || !S_ISCHR(info.stx_mode))
    return false;
  if (info.stx_rdev_major == kDriversMajor) return true;
  for (const char* const path : kDriversFiles) {
    struct statx own{};
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &own) == 0 && S_ISCHR(own.stx_mode) &&
        own.stx_rdev_major == info.stx_rdev_major && own.stx_rdev_minor == info.stx_rdev_minor)
      return true;
  }
  return false;
}

}  // namespace

bool IsAnswer(executor::RequestKind kind, int file) {
  switch (kind) {
    case executor::RequestKind::kLoadModule: return os::IsMemory(file, executor::kMostModuleInfoBytes);
    case executor::RequestKind::kCompile: return os::IsMemory(file, executor::kMostCodeBytes);
    case executor::RequestKind::kMapSlab:
    case executor::RequestKind::kExportSlab: return os::IsMemory(file, ~0ull) || IsOfTheDriver(file);
    default: return false;
  }
}

bool MayBeSlab(int file, uint64_t bytes) {
  struct stat info{};
  return IsOfTheDriver(file) ||
         (os::IsMemory(file, bytes) && fstat(file, &info) == 0 && static_cast<uint64_t>(info.st_size) == bytes);
}

}  // namespace tutti::device::gpu
