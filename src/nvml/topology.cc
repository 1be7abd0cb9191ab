// How devices are connected: all are one processor's, and copies between them are copies in its memory.
#include "nvml/entry.h"

using namespace tutti::nvml;

namespace {

constexpr int kSameProcessor = 40;  // NVML_TOPOLOGY_NODE
constexpr int kPeerOk = 0;
constexpr int kPeerNotSupported = 5;
constexpr int kRead = 0, kWrite = 1, kOverNvlink = 2, kAtomics = 3, kOverPci = 4;

}  // namespace

NVML_EXPORT nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, int* level) {
  return WithDevice(
      one,
      [&](const View&, const Device&, uint32_t) {
        if (!IsHandle(other)) return NVML_ERROR_INVALID_ARGUMENT;
        *level = one == other ? 0 : kSameProcessor;
        return NVML_SUCCESS;
      },
      level);
}
NVML_EXPORT nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t handle, int level, unsigned* count, nvmlDevice_t* nearest) {
  return WithDevice(
      handle,
      [&](const View& view, const Device&, uint32_t index) {
        const unsigned room = *count;
        *count = level == kSameProcessor ? static_cast<unsigned>(view.devices.size()) - 1 : 0;
        if (nearest == nullptr || *count == 0) return NVML_SUCCESS;
        if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
        for (uint32_t i = 0; i < view.devices.size(); ++i) {
          if (i != index) *nearest++ = HandleOf(view.devices[i]);
        }
        return NVML_SUCCESS;
      },
      count);
}
// As cuDeviceCanAccessPeer says: kernels and copies of one client reach all its devices' memory.
NVML_EXPORT nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, int which, int* status) {
  return WithDevice(
      one,
      [&](const View&, const Device&, uint32_t) {
        if (!IsHandle(other) || which < kRead || which > kOverPci) return NVML_ERROR_INVALID_ARGUMENT;
        *status = which == kOverNvlink || which == kOverPci || one == other ? kPeerNotSupported : kPeerOk;
        return NVML_SUCCESS;
      },
      status);
}
