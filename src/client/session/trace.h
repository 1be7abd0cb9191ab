// TUTTI_TRACE=1: logs every driver API call as one line. Also the one log line that names an unsupported function.
// Thread-safe.
#pragma once

namespace tutti::client {

// Prints the call and passes its result through.
int Traced(const char* symbol, int result);

// CUDA_ERROR_NOT_SUPPORTED, and a line in the log the first time that `symbol` is called, with the reason if there is
// one. `said` belongs to the symbol.
int Unsupported(const char* symbol, bool& said, const char* reason = nullptr);

}  // namespace tutti::client
