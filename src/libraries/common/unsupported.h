// Says on stderr, once for each function and process, that a program called something that a library has by name only.
#pragma once

#include <atomic>

namespace tutti::libraries {

// `said` is the function's own.
void SayUnsupported(const char* function, std::atomic<bool>& said);

}  // namespace tutti::libraries
