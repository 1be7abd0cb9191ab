// The driver's hidden tables (cuGetExportTable): arrays of functions, found by a UUID, that the CUDA runtime cannot
// start without. They are undocumented; these were derived from what runtimes ask for and accept.
#pragma once

#include "cuda/types.h"

namespace tutti::client {

// Null if there is no such table.
const void* FindExportTable(const cuda::CUuuid& id);

// The addresses that the integrity check covers.
const void* RuntimeInterfaceTable();
const void* IntegrityCheckTable();

}  // namespace tutti::client
