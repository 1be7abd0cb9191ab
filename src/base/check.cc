#include "base/check.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"

namespace tutti {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: internal error: CHECK(%s) failed\n", file, line, condition);
  std::abort();
}

void EndForLackOf(std::string_view what) {
  log::Error("cannot start: {}", FailErrno(std::string(what)).error().text);
  _exit(1);
}

}  // namespace tutti
