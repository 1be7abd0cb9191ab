// Where kernels put the parameters of the kernels that they launch: buffers in the client's window, each of them for
// one launch of one grid. Guarded by the Space's lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/cpu/memory/window_memory.h"
#include "device/host_share.h"

namespace tutti::device::cpu {

struct CpuOperation;

// A launch whose parameters are being written.
struct ChildShape {
  uint32_t kernel = 0;  // of the grid's module
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
};

class ParameterBuffers {
 public:
  static constexpr uint64_t kMostBytes = 32 << 10;  // PTX ISA, .param of kernels: 32,764 bytes at most

  ParameterBuffers(WindowMemory* memory, HostShare* host, uint32_t device)
      : memory_(memory), host_(host), device_(device) {}

  struct Buffer {
    const CpuOperation* grid = nullptr;  // that asked for it
    uint64_t bytes = 0;
    std::optional<ChildShape> shape;  // if the launch is not to name one itself
    HostHold hold;
  };
  // 0 if there is no memory. At most kMostBytes.
  uint64_t Take(const CpuOperation* grid, uint64_t bytes, const std::optional<ChildShape>& shape);
  // Null if none of the grid's begins there.
  const Buffer* Find(const CpuOperation* grid, uint64_t address) const;
  void Give(uint64_t address);
  // The grid is over, and what it has not launched it never will.
  void GiveAllOf(const CpuOperation* grid);
  size_t count() const { return taken_.size(); }

 private:
  static constexpr uint64_t kLeastBytes = 64;
  static constexpr uint32_t kSizes = 10;  // powers of two, up to kMostBytes
  static uint32_t SizeOf(uint64_t bytes);

  WindowMemory* const memory_;
  HostShare* const host_;
  const uint32_t device_;
  std::array<std::vector<uint64_t>, kSizes> free_;
  std::unordered_map<uint64_t, Buffer> taken_;
};

}  // namespace tutti::device::cpu
