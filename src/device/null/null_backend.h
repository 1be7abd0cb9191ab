// The null device: accepts all work, does nothing, and completes it at once. To measure and test everything above the
// device. Memory is real (the client may write to it), and so is the order between streams and host calls.
//
// Its modules have a kernel for each ".entry <name>" in the image, without parameters, or one of the image's name if
// that is a single word; other images are invalid.
#pragma once

#include <memory>

#include "device/device.h"

namespace tutti::device::null {

// With one thread that polls the clients' rings as the workers of a real device do.
std::unique_ptr<Backend> CreateNullBackend();

}  // namespace tutti::device::null
