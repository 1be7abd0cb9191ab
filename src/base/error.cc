#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace tutti {

std::unexpected<Error> FailErrno(std::string what, int code) {
  what += ": ";
  what += std::strerror(errno);
  return Fail(code, std::move(what));
}

}  // namespace tutti
