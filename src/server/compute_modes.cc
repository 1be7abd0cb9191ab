#include "server/compute_modes.h"

#include <algorithm>

#include "control/client_table.h"
#include "control/compute_mode.h"
#include "cuda/device_attribute.h"

namespace tutti::server {

void FillComputeModes(wire::ChannelHeader& header) {
  const auto modes = control::ComputeModes::Load();
  for (uint32_t i = 0; i < std::min(header.device_count, wire::kMaxDevices); ++i) {
    wire::DeviceInfo& device = header.devices[i];
    device.attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE] =
        static_cast<int32_t>(modes.Of(control::FormatUuid(device.uuid)));
  }
}

}  // namespace tutti::server
