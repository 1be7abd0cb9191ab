#include "nvml/private_devices.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "client/session/mps_environment.h"
#include "client/session/private_server.h"
#include "control/client_table.h"
#include "cuda/device_attribute.h"

namespace tutti::nvml {
namespace {

Device Describe(const wire::DeviceInfo& info, const wire::DeviceState& state) {
  const auto attribute = [&info](int which) { return static_cast<unsigned>(std::max(0, info.attributes[which])); };
  Device device{.uuid = control::FormatUuid(info.uuid),
                .name = std::string(info.name, strnlen(info.name, sizeof info.name)),
                .total_bytes = std::min(info.total_bytes, state.limit_bytes.load(std::memory_order_relaxed)),
                .sm_count = attribute(cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                .compute_major = attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                .compute_minor = attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                .pci_domain = attribute(cuda::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                .pci_bus = attribute(cuda::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                .pci_device = attribute(cuda::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)};
  const int given = state.sm_count.load(std::memory_order_relaxed);
  if (device.sm_count > 0 && given > 0) device.percentage = std::min(100.0, 100.0 * given / device.sm_count);
  return device;
}

Result<std::vector<Device>> Ask() {
  wire::Hello hello;
  hello.claimed_pid = static_cast<uint32_t>(getpid());
  client::AskForLimits(&hello);
  TUTTI_ASSIGN(const ipc::ServerView view, client::LookAtPrivateServer(hello));
  const wire::ChannelHeader& header = view.header();
  std::vector<Device> devices;
  for (uint32_t i = 0; i < std::min<uint32_t>(header.device_count, wire::kMaxDevices); ++i)
    devices.push_back(Describe(header.devices[i], header.states[i]));
  return devices;
}

}  // namespace

// No lock, which a forked child would inherit taken: threads that ask at once each start a server.
Result<std::vector<Device>> PrivateDevices() {
  static constinit std::atomic<const std::vector<Device>*> known{nullptr};
  if (const auto* devices = known.load(std::memory_order_acquire)) return *devices;
  TUTTI_ASSIGN(std::vector<Device> devices, Ask());
  const auto* const mine = new std::vector<Device>(devices);
  const std::vector<Device>* none = nullptr;
  if (!known.compare_exchange_strong(none, mine, std::memory_order_release, std::memory_order_relaxed)) delete mine;
  return devices;
}

}  // namespace tutti::nvml
