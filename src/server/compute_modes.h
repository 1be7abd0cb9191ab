// Writes the current compute modes of a client's devices into its channel when it attaches.
#pragma once

#include "wire/channel_layout.h"

namespace tutti::server {

void FillComputeModes(wire::ChannelHeader& header);

}  // namespace tutti::server
