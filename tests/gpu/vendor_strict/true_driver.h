// The driver that does the work: our own of this build, unless TUTTI_STRICT_DRIVER names another one.
#pragma once

#include "executor/vendor.h"

namespace tutti::gpu::strict {

using TrueDriver = cuda::VendorTable;

// Opened, and initialized, as this library is loaded: Tutti's own starts a program then, which its process may forbid
// itself later. Ends the process without one.
const TrueDriver& True();

}  // namespace tutti::gpu::strict
