// The kubelet's device ids: "UUID::N" for replica N of a device, the UUID alone for a whole device.
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
  // Parses any text: unless it is "UUID::N" it is a UUID.
  static ReplicaId Parse(std::string_view text);
};

}  // namespace tutti::kubernetes
