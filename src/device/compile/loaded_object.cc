// The dynamic loader identifies libraries by path, so the file stays open as long as the object is loaded:
// /proc/self/fd/N then names no other.
//
// The compiler that made the object is trusted as little as possible, so the descriptor is validated before anything
// follows its pointers. The code itself will run in this process either way; what it can reach is another matter
// (guest/cpu/kernel_abi.h).
#include "device/compile/loaded_object.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "cuda/result.h"
#include "os/memory.h"

namespace tutti::device {
namespace {

constexpr uint64_t kMaxStackBytes = 64ull << 20;

std::unexpected<Error> Bad(std::string text) {
  return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "compiled kernel: " + std::move(text));
}

// The memory of one loaded object.
class Extents {
 public:
  explicit Extents(const link_map* map) : base_(map->l_addr) {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* self) {
          auto* extents = static_cast<Extents*>(self);
          if (info->dlpi_addr != extents->base_) return 0;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& segment = info->dlpi_phdr[i];
            if (segment.p_type == PT_LOAD)
              extents->ranges_.push_back({info->dlpi_addr + segment.p_vaddr, segment.p_memsz, segment.p_flags});
          }
          return 1;
        },
        this);
  }

  bool Holds(const void* pointer, uint64_t bytes, uint32_t flags) const {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    for (const Range& range : ranges_) {
      if (address >= range.start && InRange(address - range.start, bytes, range.bytes))
        return (range.flags & flags) == flags;
    }
    return false;
  }

  // A string that ends inside the object.
  bool HoldsText(const char* text) const {
    const auto address = reinterpret_cast<uint64_t>(text);
    for (const Range& range : ranges_) {
      if (address < range.start || address - range.start >= range.bytes || (range.flags & PF_R) == 0) continue;
      const uint64_t left = range.bytes - (address - range.start);
      return strnlen(text, left) < left;
    }
    return false;
  }

 private:
  struct Range {
    uint64_t start;
    uint64_t bytes;
    uint32_t flags;
  };
  uint64_t base_;
  std::vector<Range> ranges_;
};

Status CheckDescriptor(const guest::KernelDescriptor* descriptor, const Extents& extents, std::string_view kernel) {
  if (!extents.Holds(descriptor, sizeof *descriptor, PF_R)) return Bad("its descriptor is not in the object");
  if (descriptor->magic != guest::kKernelMagic) return Bad("its descriptor has a wrong magic");
  if (descriptor->abi_version != guest::kAbiVersion) {
    return Bad(fmt::format("made for interface version {}, this is {}", descriptor->abi_version, guest::kAbiVersion));
  }
  if (!extents.HoldsText(descriptor->name) || kernel != descriptor->name)
    return Bad("it is not the kernel that was asked for");
  if (!extents.Holds(reinterpret_cast<const void*>(descriptor->run), 1, PF_R | PF_X))
    return Bad("its code is not in the object");
  if (descriptor->stack_bytes > kMaxStackBytes || descriptor->local_bytes > guest::kMostLocalBytes)
    return Bad("it wants too much memory");
  const uint64_t location_bytes = uint64_t{descriptor->location_count} * sizeof(guest::SourceLocation);
  if (location_bytes != 0 && !extents.Holds(descriptor->locations, location_bytes, PF_R))
    return Bad("its locations are not in the object");
  for (uint32_t i = 0; i < descriptor->location_count; ++i) {
    const char* file = descriptor->locations[i].source_file;
    if (file != nullptr && !extents.HoldsText(file)) return Bad("a location's file name is not in the object");
  }
  return {};
}

// The dynamic loader trusts an object's headers, so a truncated file would crash the server: headers and segments must
// lie in the file.
Status CheckWhole(int file) {
  struct stat info{};
  Elf64_Ehdr header{};
  if (fstat(file, &info) != 0) return FailErrno("fstat of a compiled kernel");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (pread(file, &header, sizeof header, 0) != sizeof header || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return Bad("it is not a shared object");
  if (!InRange<uint64_t>(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), size) ||
      !InRange<uint64_t>(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), size))
    return Bad("its end is missing");
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (pread(file, &segment, sizeof segment, at) != sizeof segment) return Bad("its headers cannot be read");
    if (!InRange<uint64_t>(segment.p_offset, segment.p_filesz, size)) return Bad("a segment is not in the file");
  }
  return {};
}

// Half of the mappings that the system allows a process (vm.max_map_count), for compiled kernels.
uint64_t MostObjects() {
  constexpr uint64_t kMappingsPerObject = 5;
  constexpr uint64_t kUsualLimit = 65530;
  static const uint64_t most = [] {
    uint64_t limit = 0;
    std::ifstream("/proc/sys/vm/max_map_count") >> limit;
    return (limit != 0 ? limit : kUsualLimit) / 2 / kMappingsPerObject;
  }();
  return most;
}

// Counts one object that this process has loaded.
class LoadPermit {
 public:
  static std::optional<LoadPermit> Take() {
    if (taken_.fetch_add(1, std::memory_order_relaxed) < MostObjects()) return LoadPermit();
    taken_.fetch_sub(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  LoadPermit(LoadPermit&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  ~LoadPermit() {
    if (held_) taken_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  LoadPermit() = default;
  static inline std::atomic<uint64_t> taken_{0};
  bool held_ = true;
};

struct LoadedObject : LoadedKernel {
  LoadedObject(os::Fd opened, void* loaded, LoadPermit taken)
      : permit(std::move(taken)), file(std::move(opened)), handle(loaded) {}
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  ~LoadedObject() override { dlclose(handle); }
  LoadPermit permit;
  os::Fd file;
  void* handle;
};

}  // namespace

Result<std::shared_ptr<const LoadedKernel>> LoadObject(os::Fd file, std::string_view kernel) {
  TUTTI_TRY(CheckWhole(file.get()));
  auto permit = LoadPermit::Take();
  if (!permit) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("this server has {} compiled kernels in memory, which is its limit", MostObjects()));
  }
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Bad(fmt::format("it cannot be loaded: {}", dlerror()));
  auto object = std::make_shared<LoadedObject>(std::move(file), handle, std::move(*permit));
  const auto* descriptor = static_cast<const guest::KernelDescriptor*>(dlsym(handle, guest::kKernelSymbol));
  if (descriptor == nullptr) return Bad("it has no descriptor");
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return Bad("the loader does not know it");
  TUTTI_TRY(CheckDescriptor(descriptor, Extents(map), kernel));
  object->descriptor = descriptor;
  return object;
}

}  // namespace tutti::device
