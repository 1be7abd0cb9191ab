#include "control/command_message.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "wire/messages.h"

namespace tutti::control {

std::vector<uint8_t> PackCommand(uint32_t serial, std::string_view line) {
  ByteWriter body;
  body.PutString(line);
  return wire::Pack(wire::MessageKind::kCommand, serial, std::move(body));
}

std::vector<uint8_t> PackCommandReply(uint32_t serial, const CommandReply& reply) {
  ByteWriter body;
  body.Put(reply.exit_status);
  body.Put(static_cast<uint8_t>(reply.more));
  body.Put(static_cast<uint8_t>(reply.ending));
  body.PutString(reply.text);
  return wire::Pack(wire::MessageKind::kCommandReply, serial, std::move(body));
}

Result<std::string> ReadCommand(std::span<const uint8_t> body) {
  ByteReader in(body);
  std::string line = in.GetString();
  if (!in.ok()) return Fail("command message is cut short");
  if (line.size() > kMaxCommandBytes) {
    return Fail(fmt::format("command line of {} bytes, {} are allowed", line.size(), kMaxCommandBytes));
  }
  return line;
}

Result<CommandReply> ReadCommandReply(std::span<const uint8_t> packet) {
  ByteReader in(packet);
  TUTTI_ASSIGN(const wire::MessageHead head, wire::ReadHead(in));
  if (head.kind != wire::MessageKind::kCommandReply) return Fail("expected the answer to a command");
  CommandReply reply;
  reply.exit_status = in.Get<int32_t>();
  reply.more = in.Get<uint8_t>() != 0;
  reply.ending = in.Get<uint8_t>() != 0;
  reply.text = in.GetString();
  if (!in.ok()) return Fail("answer to a command is cut short");
  return reply;
}

std::vector<std::string_view> SplitReply(std::string_view text) {
  std::vector<std::string_view> pieces;
  do {
    pieces.push_back(text.substr(0, kMaxReplyTextBytes));
    text.remove_prefix(pieces.back().size());
  } while (!text.empty());
  return pieces;
}

}  // namespace tutti::control
