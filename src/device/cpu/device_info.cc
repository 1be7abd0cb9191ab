// The numbers are those of a real device of compute capability 8.0 wherever they are limits that programs plan by
// (textures, grids, shared memory), and this machine's wherever they are facts (SMs, memory, caches).
#include "device/cpu/device_info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "cuda/device_attribute.h"
#include "device/cpu/exec/device_limits.h"
#include "device/device.h"

namespace tutti::device::cpu {
namespace {

using namespace tutti::cuda;

struct AttributeValue {
  DeviceAttribute attribute;
  int32_t value;
};

constexpr AttributeValue kExecutionLimits[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, kMaxBlock[0]},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, kMaxBlock[1]},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, kMaxBlock[2]},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, kMaxGrid[0]},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, kMaxGrid[1]},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, kMaxGrid[2]},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSharedBytesPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kSharedBytesOptIn},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, kSharedBytesPerSm},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, kReservedSharedBytes},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, kConstantBytes},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, kMaxThreadsPerSm},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, kMaxBlocksPerSm},
};

constexpr AttributeValue kAbilities[] = {
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    // Managed memory is the same memory on both sides, so both may touch it at any time.
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 1},  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 1},  // memory is coherent: nothing is left to flush
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    // Memory may be compressible; this device compresses none of it.
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID, 0},
};

constexpr AttributeValue kTextureLimits[] = {
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8192},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8192},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046},
    {CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER, 1},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 268435456},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, 65536},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046},
};

// FNV-1a, twice with different seeds: 128 bits that are the same on every start on this machine.
uint64_t Hash(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

void SetUuid(wire::DeviceInfo& info, uint32_t ordinal) {
  std::string machine = "no machine-id";
  std::ifstream("/etc/machine-id") >> machine;
  const std::string text = fmt::format("{}/tutti-cpu/{}", machine, ordinal);
  const uint64_t halves[2] = {Hash(text, 0), Hash(text, 0x9e3779b97f4a7c15u)};
  std::memcpy(info.uuid, halves, sizeof info.uuid);
  info.uuid[6] = (info.uuid[6] & 0x0f) | 0x80;  // RFC 9562: version 8 (own scheme),
  info.uuid[8] = (info.uuid[8] & 0x3f) | 0x80;  // variant 1
}

int32_t CoreClockKhz() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  int32_t khz = 0;
  return file >> khz && khz > 0 ? khz : 2'500'000;
}

int32_t CacheBytes() {
  constexpr long kSane = 1l << 30;
  const long level3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const long bytes = level3 > 0 ? level3 : level2 > 0 ? level2 : 1l << 20;
  return static_cast<int32_t>(std::min(bytes, kSane));
}

}  // namespace

wire::DeviceInfo DescribeDevice(const CpuSettings& settings, uint32_t ordinal) {
  wire::DeviceInfo info{};
  // All of one machine have one name, as GPUs of one model: XLA runs on a device what it compiled for one of its name.
  constexpr std::string_view kName = "Tutti CPU Device";
  static_assert(kName.size() < sizeof info.name);
  std::memcpy(info.name, kName.data(), kName.size());
  SetUuid(info, ordinal);
  info.total_bytes = settings.memory_bytes;
  info.traits = wire::kAllDeviceLimits;
  info.sm_group = settings.sm_group;
  info.most_urgent = 1 - static_cast<int32_t>(kUrgencies);

  const auto set = [&info](DeviceAttribute attribute, int32_t value) { info.attributes[attribute] = value; };
  for (const auto& [attribute, value] : kExecutionLimits) set(attribute, value);
  for (const auto& [attribute, value] : kAbilities) set(attribute, value);
  for (const auto& [attribute, value] : kTextureLimits) set(attribute, value);
  set(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, static_cast<int32_t>(settings.sms));
  set(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, settings.compute_major);
  set(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, settings.compute_minor);
  // Clusters work in any case; programs expect them of such devices only, and take other code for these.
  set(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, settings.compute_major >= 9 ? 1 : 0);
  set(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CoreClockKhz());
  set(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1'600'000);
  set(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 128);
  set(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, CacheBytes());
  // What may persist is a hint, which processors decide for themselves: any of the cache.
  set(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, CacheBytes());
  set(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, CacheBytes());
  // One PCI address per ordinal, in a domain that firmware does not use.
  set(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0xf000);
  set(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, static_cast<int32_t>(ordinal + 1));
  set(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0);
  set(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, static_cast<int32_t>(ordinal));
  return info;
}

}  // namespace tutti::device::cpu
