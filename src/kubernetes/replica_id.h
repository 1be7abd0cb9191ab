// The ids that the kubelet hands around: "UUID::N" for replica N of a device, the UUID alone for a whole one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::kubernetes {

struct ReplicaId {
  std::string uuid;
  std::optional<uint32_t> replica;

  std::string Text() const;
  // Of any text: what is no "UUID::N" is a UUID.
  static ReplicaId Parse(std::string_view text);
};

}  // namespace tutti::kubernetes
