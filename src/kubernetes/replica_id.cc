#include "kubernetes/replica_id.h"

#include <fmt/format.h>

#include <charconv>

namespace tutti::kubernetes {

std::string ReplicaId::Text() const { return replica ? fmt::format("{}::{}", uuid, *replica) : uuid; }

ReplicaId ReplicaId::Parse(std::string_view text) {
  const size_t colons = text.find("::");
  if (colons != std::string_view::npos) {
    uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colons + 2, end, number);
    // "00" and "+1" are no valid numbers: otherwise an id that was never offered would equal another.
    const bool as_written = text.substr(colons + 2) == std::to_string(number);
    if (error == std::errc{} && stop == end && as_written) return {std::string(text.substr(0, colons)), number};
  }
  return {std::string(text), std::nullopt};
}

}  // namespace tutti::kubernetes
