// The bodies of the driver's functions, declared from the API table: a missing one is a link error; one whose
// parameters differ from its row is a compile error.
//
// A body runs only after the library is initialised (except class `early`), may throw nothing but std::bad_alloc, and
// checks every argument itself.
#pragma once

#include "cuda/api.h"
#include "cuda/types.h"

namespace tutti::client::entry {

using namespace tutti::cuda;

#define CU_ENTRY(symbol, name, version, class, body, types) CUresult body types;
#include "cuda/api.def"

}  // namespace tutti::client::entry
