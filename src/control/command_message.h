// Bodies of wire::MessageKind::kCommand and kCommandReply: one command line, answered by one or more packets of text.
// An answer can be longer than a packet (`ps` with a thousand clients), so every packet but the last says `more`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::control {

inline constexpr size_t kMaxCommandBytes = 4096;
inline constexpr size_t kMaxReplyTextBytes = 64 * 1024;  // of one packet; well under os::kMaxMessageBytes

struct CommandReply {
  int32_t exit_status = 0;  // of the shell that ran the command
  bool more = false;        // further packets follow
  bool ending = false;      // the daemon ends after this reply: wait for it
  std::string text;         // printed to stdout unchanged
};

std::vector<uint8_t> PackCommand(uint32_t serial, std::string_view line);
std::vector<uint8_t> PackCommandReply(uint32_t serial, const CommandReply& reply);

// The command line in the body of a kCommand. Fails if it is truncated or longer than kMaxCommandBytes.
Result<std::string> ReadCommand(std::span<const uint8_t> body);
// Takes the whole packet, head included.
Result<CommandReply> ReadCommandReply(std::span<const uint8_t> packet);

// Splits `text` into pieces of at most kMaxReplyTextBytes; at least one piece.
std::vector<std::string_view> SplitReply(std::string_view text);

}  // namespace tutti::control
