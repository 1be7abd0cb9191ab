// Machine code that the vendor's driver makes, without loading it. Of PTX: a program's text may end the driver, or keep
// it for ever, so it is compiled where no client has a place (device/gpu/jit.h). Of images that belong together: a
// driver loads only what they are linked to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/vendor.h"

namespace tutti::executor {

// With a context that is current. An error's text is the log of the vendor's compiler, if it has written one.
Result<std::vector<uint8_t>> Link(const Vendor& vendor, std::span<const uint8_t> text);
// `list`: PTX, fat binaries and cubins, of separate translation units (image/image_list.h).
Result<std::vector<uint8_t>> LinkList(const Vendor& vendor, std::span<const uint8_t> list);

}  // namespace tutti::executor
