// CHECK: for our own bugs only, in daemon, server, compiler and tools. The client library never includes this header:
// it must not end its host (see client/session/poison.h).
#pragma once

#include <string_view>

namespace tutti {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

// Ends a program that cannot start because the system has no resources for `what` (errno says why): a line in its log,
// status 1.
[[noreturn]] void EndForLackOf(std::string_view what);

}  // namespace tutti

#define TUTTI_CHECK(condition) ((condition) ? (void)0 : ::tutti::CheckFailed(__FILE__, __LINE__, #condition))
