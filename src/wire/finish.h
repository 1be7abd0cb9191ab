// Ends the reading of a message: fails if it was truncated.
#pragma once

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace tutti::wire {

template <typename T>
Result<T> Finish(const ByteReader& in, T message, const char* name) {
  if (!in.ok()) return Fail(std::string(name) + " message is cut short");
  return message;
}

}  // namespace tutti::wire
