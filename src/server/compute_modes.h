// Tells a client the compute modes of its devices, as they are when it attaches.
#pragma once

#include "wire/channel_layout.h"

namespace tutti::server {

void FillComputeModes(wire::ChannelHeader& header);

}  // namespace tutti::server
