// What a fenced kernel has recorded of its fault (guest/gpu/fenced_ptx.h), for its client and the log.
#pragma once

#include <optional>
#include <string>

#include "device/fault.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::device::gpu {

// `record`: as an executor says, so any number may stand in it. `function`: where it was, if that is known.
Fault DescribeFault(const guest::FenceFault& record, const std::optional<std::string>& function);

}  // namespace tutti::device::gpu
