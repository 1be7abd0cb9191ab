// TUTTI_TRACE=1: every call of the driver API as one line on the log. And the one line that names a function we do not
// support. Thread-safe.
#pragma once

namespace tutti::client {

// Prints the call and passes its result through.
int Traced(const char* symbol, int result);

// CUDA_ERROR_NOT_SUPPORTED, and a line in the log the first time that `symbol` is called. `said` belongs to the symbol.
int Unsupported(const char* symbol, bool& said);

}  // namespace tutti::client
