// A device that accepts everything and does nothing: for measuring what is above the device, and for tests of it. Memory is
// given out and counted, modules and kernels exist whatever the image says, and every record is done as soon as it comes.
#pragma once

#include <memory>

#include "device/device.h"

namespace tutti::device::null {

std::unique_ptr<Backend> CreateNullBackend();

}  // namespace tutti::device::null
