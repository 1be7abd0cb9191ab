#include "executor/window.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <utility>
#include <vector>

#include "base/checked.h"
#include "executor/own_stream.h"
#include "os/memory.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint64_t kGranularity = 2u << 20;

constexpr int kRead = 1, kReadAndWrite = 3;  // CUmemAccess_flags
constexpr unsigned kPortableAndMapped = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

// Addresses that this process does not use now; 0: there are none.
uint64_t RoomFor(uint64_t bytes) {
  void* const room = mmap(nullptr, bytes + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return 0;
  munmap(room, bytes + kGranularity);
  return AlignUp(reinterpret_cast<uint64_t>(room), kGranularity);
}

}  // namespace

tutti::Result<uint64_t> Window::Open(os::Fd host_file, uint64_t host_bytes, uint64_t device_bytes, uint64_t wish) {
  const auto whole = [](uint64_t bytes) { return bytes != 0 && bytes % kGranularity == 0 && bytes < 1ull << 47; };
  if (base_ != 0 || !host_file || !whole(host_bytes) || !whole(device_bytes))
    return Fail(CUDA_ERROR_INVALID_VALUE, "a window that cannot be");
  host_bytes_ = host_bytes;
  device_bytes_ = device_bytes;
  if (stream_ == nullptr) {  // one may be asked for in vain
    TUTTI_ASSIGN(stream_, CreateOwnStream(vendor_));
  }
  // Our own driver reaches the host part by a mapping of the file at reserved addresses, others as registered memory of
  // this process, which lies where nothing is reserved.
  Status opened = OpenAt(wish, host_file);
  // A wish is no more than a hint, and below the addresses that the driver gives others may lie.
  if (!opened && !vendor_.ours) opened = OpenAt(RoomFor(host_bytes + device_bytes), host_file);
  if (!opened) return std::unexpected(opened.error());
  host_file_ = std::move(host_file);
  return base_;
}

Status Window::OpenAt(uint64_t wish, const os::Fd& host_file) {
  const uint64_t reserved_host = vendor_.ours ? host_bytes_ : 0;
  CUdeviceptr reserved = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuMemAddressReserve(&reserved, reserved_host + device_bytes_, kGranularity,
                                                      wish == 0 ? 0 : wish + host_bytes_ - reserved_host, 0),
                          fmt::format("cuMemAddressReserve of {} bytes", reserved_host + device_bytes_)));
  base_ = reserved + reserved_host - host_bytes_;
  reserved_ = reserved;
  reserved_bytes_ = reserved_host + device_bytes_;
  const Status host = vendor_.ours ? OpenHostInReserved(host_file) : OpenHostBelow(host_file);
  if (host) return {};
  base_ = 0;
  vendor_.cuMemAddressFree(std::exchange(reserved_, 0), reserved_bytes_);
  return host;
}

tutti::Result<uint64_t> Window::FindAddresses(uint64_t bytes, uint64_t wish) const {
  CUdeviceptr found = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuMemAddressReserve(&found, bytes, kGranularity, wish, 0),
                          fmt::format("cuMemAddressReserve of {} bytes", bytes)));
  TUTTI_TRY(vendor_.Check(vendor_.cuMemAddressFree(found, bytes), "cuMemAddressFree"));
  return found;
}

Status Window::OpenHostInReserved(const os::Fd& host_file) {
  TUTTI_ASSIGN(const CUmemGenericAllocationHandle memory, Import(host_file.get()));
  const Status shown = Show(base_, host_bytes_, memory, true);
  vendor_.cuMemRelease(memory);  // the mapping holds it
  host_is_mapped_ = shown.has_value();
  return shown;
}

Status Window::OpenHostBelow(const os::Fd& host_file) {
  void* const wanted = reinterpret_cast<void*>(base_);
  void* const got = mmap(wanted, host_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
                         host_file.get(), 0);
  host_is_mapped_ = got == wanted;
  if (host_is_mapped_) return {};
  return FailErrno(fmt::format("the window's host part at {:#x}", base_), CUDA_ERROR_OUT_OF_MEMORY);
}

Status Window::AttachHost(uint64_t address, uint64_t bytes) {
  if (base_ == 0 || address < base_ || !InRange(address - base_, bytes, host_bytes_))
    return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the host part");
  if (vendor_.ours) return {};
  void* const at = reinterpret_cast<void*>(address);
  TUTTI_TRY(vendor_.Check(vendor_.cuMemHostRegister_v2(at, bytes, kPortableAndMapped), "cuMemHostRegister"));
  attached_.push_back(address);
  CUdeviceptr seen = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuMemHostGetDevicePointer_v2(&seen, at, 0), "cuMemHostGetDevicePointer"));
  if (seen == address) return {};
  return Fail(
      CUDA_ERROR_NOT_SUPPORTED,
      fmt::format("the device has host memory at other addresses than the host: {:#x} at {:#x}", address, seen));
}

Status Window::AllowAccess(uint64_t address, uint64_t bytes, bool writable) const {
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_},
                               .flags = writable ? kReadAndWrite : kRead};
  return vendor_.Check(vendor_.cuMemSetAccess(address, bytes, &access, 1), "cuMemSetAccess");
}

bool Window::InDevicePart(uint64_t address, uint64_t bytes) const {
  return base_ != 0 && bytes != 0 && address >= base_ + host_bytes_ &&
         InRange(address - base_ - host_bytes_, bytes, device_bytes_);
}

bool Window::IsWhole(uint64_t address, uint64_t bytes) const {
  return InDevicePart(address, bytes) && address % kGranularity == 0 && bytes % kGranularity == 0;
}

tutti::Result<CUmemGenericAllocationHandle> Window::Import(int descriptor) const {
  CUmemGenericAllocationHandle memory = 0;
  TUTTI_TRY(vendor_.Check(
      vendor_.cuMemImportFromShareableHandle(&memory, reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor)),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      "cuMemImportFromShareableHandle"));
  return memory;
}

// Our own driver exports memory to clients of the same server only, but imports files of its program.
tutti::Result<Window::Memory> Window::Create(uint64_t bytes, bool shareable) const {
  Memory memory{.bytes = bytes, .handle = 0, .file = {}};
  if (vendor_.ours && shareable) {
    TUTTI_ASSIGN(memory.file, os::CreateMemory("tutti-slab", bytes));
    TUTTI_ASSIGN(memory.handle, Import(memory.file.get()));
    return memory;
  }
  const CUmemAllocationProp properties{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_},
                                       .win32HandleMetaData = nullptr,
                                       .allocFlags = {}};
  TUTTI_TRY(vendor_.Check(vendor_.cuMemCreate(&memory.handle, bytes, &properties, 0),
                          fmt::format("cuMemCreate of {} bytes", bytes)));
  return memory;
}

Status Window::Show(uint64_t address, uint64_t bytes, CUmemGenericAllocationHandle memory, bool writable) const {
  TUTTI_TRY(vendor_.Check(vendor_.cuMemMap(address, bytes, 0, memory, 0), "cuMemMap"));
  const Status allowed = AllowAccess(address, bytes, writable);
  if (!allowed) vendor_.cuMemUnmap(address, bytes);
  return allowed;
}

Status Window::MapSlab(uint64_t address, uint64_t bytes, bool shareable) {
  if (!IsWhole(address, bytes)) return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the device part");
  TUTTI_ASSIGN(Memory memory, Create(bytes, shareable));
  Status mapped = Show(address, bytes, memory.handle, true);
  if (mapped) {
    mapped = Clear(address, bytes);
    if (!mapped) vendor_.cuMemUnmap(address, bytes);
  }
  if (!mapped || !shareable) vendor_.cuMemRelease(std::exchange(memory.handle, 0));
  if (mapped) mapped_.insert_or_assign(address, std::move(memory));
  return mapped;
}

Status Window::UnmapSlab(uint64_t address, uint64_t bytes) {
  if (!IsWhole(address, bytes)) return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the device part");
  TUTTI_TRY(vendor_.Check(vendor_.cuMemUnmap(address, bytes), "cuMemUnmap"));
  const auto memory = mapped_.extract(address);
  if (!memory || memory.mapped().handle == 0) return {};
  return vendor_.Check(vendor_.cuMemRelease(memory.mapped().handle), "cuMemRelease");
}

tutti::Result<os::Fd> Window::ExportSlab(uint64_t address) {
  const auto found = mapped_.find(address);
  if (found == mapped_.end() || found->second.handle == 0)
    return Fail(CUDA_ERROR_INVALID_VALUE, fmt::format("no memory that can be shared is mapped at {:#x}", address));
  int descriptor = -1;
  if (const os::Fd& file = found->second.file; file) {
    descriptor = fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return FailErrno("a memory file's descriptor", CUDA_ERROR_OUT_OF_MEMORY);
  } else {
    TUTTI_TRY(vendor_.Check(vendor_.cuMemExportToShareableHandle(&descriptor, found->second.handle,
                                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                            "cuMemExportToShareableHandle"));
  }
  return os::Fd(descriptor);
}

Status Window::MapMemory(uint64_t address, uint64_t bytes, const os::Fd& memory, bool writable) {
  if (!IsWhole(address, bytes) || !memory) return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the device part");
  TUTTI_ASSIGN(const CUmemGenericAllocationHandle handle, Import(memory.get()));
  const Status shown = Show(address, bytes, handle, writable);
  vendor_.cuMemRelease(handle);  // the mapping holds it
  if (shown) mapped_.insert_or_assign(address, Memory{.bytes = bytes, .handle = 0, .file = {}});
  return shown;
}

Status Window::SetAccess(uint64_t address, uint64_t bytes, bool writable) {
  if (!IsWhole(address, bytes)) return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the device part");
  return AllowAccess(address, bytes, writable);
}

Status Window::Clear(uint64_t address, uint64_t bytes) {
  if (!InDevicePart(address, bytes)) return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the device part");
  // Beside others no kernel of the driver's: theirs may leave it no room.
  if (zeros_->any() && !context_->IsAlone(place_))
    TUTTI_TRY(zeros_->CopyTo(address, bytes, stream_));
  else
    TUTTI_TRY(vendor_.Check(vendor_.cuMemsetD8Async(address, 0, bytes, stream_), "cuMemsetD8Async"));
  return vendor_.Check(vendor_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Status Window::Close() {
  Status closed;
  const auto note = [&](const Status& status) {
    if (closed && !status) closed = status;
  };
  while (!mapped_.empty()) {
    const uint64_t address = mapped_.begin()->first;
    note(UnmapSlab(address, mapped_.begin()->second.bytes));
    mapped_.erase(address);
  }
  // A lost context unmaps nothing, and no driver takes addresses back where memory is mapped.
  const bool unmapped = closed.has_value();
  for (const uint64_t address : std::exchange(attached_, {}))
    note(vendor_.Check(vendor_.cuMemHostUnregister(reinterpret_cast<void*>(address)), "cuMemHostUnregister"));
  if (std::exchange(host_is_mapped_, false)) {
    if (vendor_.ours)
      note(vendor_.Check(vendor_.cuMemUnmap(base_, host_bytes_), "cuMemUnmap"));
    else
      munmap(reinterpret_cast<void*>(base_), host_bytes_);
  }
  if (reserved_ != 0 && unmapped)
    note(vendor_.Check(vendor_.cuMemAddressFree(std::exchange(reserved_, 0), reserved_bytes_), "cuMemAddressFree"));
  if (stream_ != nullptr)
    note(vendor_.Check(vendor_.cuStreamDestroy_v2(std::exchange(stream_, nullptr)), "cuStreamDestroy"));
  return closed;
}

tutti::Result<uint64_t> Window::ReadWord(uint64_t address, uint64_t bytes) {
  uint64_t word = 0;
  if (!InDevicePart(address, bytes) || bytes > sizeof word)
    return Fail(CUDA_ERROR_INVALID_VALUE, "no part of the device part");
  TUTTI_TRY(vendor_.Check(vendor_.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(&word), address, bytes, stream_),
                          "cuMemcpyAsync"));
  TUTTI_TRY(vendor_.Check(vendor_.cuStreamSynchronize(stream_), "cuStreamSynchronize"));
  return word;
}

}  // namespace tutti::executor
