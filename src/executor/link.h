// Machine code that the vendor's driver makes of PTX, without loading it: a program's text may end the driver, or keep
// it for ever, so it is compiled where no client has a place (device/gpu/jit.h).
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

}  // namespace tutti::executor
