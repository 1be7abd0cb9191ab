#include "control/command_message.h"

#include <gtest/gtest.h>

#include "wire/messages.h"

namespace tutti::control {
namespace {

std::vector<uint8_t> BodyOf(std::vector<uint8_t> packet) {
  packet.erase(packet.begin(), packet.begin() + sizeof(wire::MessageHead));
  return packet;
}

TEST(CommandMessage, ACommandArrivesAsTyped) {
  EXPECT_EQ(ReadCommand(BodyOf(PackCommand(7, "ps -p 12"))).value(), "ps -p 12");
}

TEST(CommandMessage, AReplyKeepsStatusAndMarks) {
  const auto reply =
      ReadCommandReply(PackCommandReply(1, {.exit_status = 3, .more = true, .ending = true, .text = "x\n"}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->exit_status, 3);
  EXPECT_TRUE(reply->more);
  EXPECT_TRUE(reply->ending);
  EXPECT_EQ(reply->text, "x\n");
}

TEST(CommandMessage, EveryTruncationIsRefused) {
  const auto whole = BodyOf(PackCommand(1, "get_server_list"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ReadCommand(std::span(whole).first(size))) << size << " bytes";
  }
}

TEST(CommandMessage, AnOverlongLineIsRefused) {
  EXPECT_TRUE(ReadCommand(BodyOf(PackCommand(1, std::string(kMaxCommandBytes, 'a')))));
  EXPECT_FALSE(ReadCommand(BodyOf(PackCommand(1, std::string(kMaxCommandBytes + 1, 'a')))));
}

TEST(CommandMessage, ALongAnswerIsSplitWithoutLoss) {
  const std::string text(2 * kMaxReplyTextBytes + 5, 'x');
  std::string joined;
  for (const auto piece : SplitReply(text)) {
    EXPECT_LE(piece.size(), kMaxReplyTextBytes);
    joined += piece;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(SplitReply("").size(), 1u);
}

}  // namespace
}  // namespace tutti::control
