// CHECK: for our own bugs only, in daemon, server, compiler and tools. The client library never includes this header: it
// must not end its host (see client/poison.h).
#pragma once

namespace tutti {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace tutti

#define TUTTI_CHECK(condition) ((condition) ? (void)0 : ::tutti::CheckFailed(__FILE__, __LINE__, #condition))
