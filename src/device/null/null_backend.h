// The null device: takes every piece of work, does nothing, and says at once that it is done. For measuring and testing
// everything above the device. Memory is real (the client may write to it), order between streams and host calls too.
//
// Its modules have a kernel for each ".entry <name>" in the image, without parameters, or one of the image's name if
// that is a single word; other images are invalid.
#pragma once

#include <memory>

#include "device/device.h"

namespace tutti::device::null {

// With one thread that looks after the clients' rings as the workers of a real device do.
std::unique_ptr<Backend> CreateNullBackend();

}  // namespace tutti::device::null
