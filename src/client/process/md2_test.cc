#include "client/process/md2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tutti::client {
namespace {

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string Hex(const Md2Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

// The test suite of RFC 1319, appendix A.5.
TEST(Md2, GivesTheDigestsOfTheRfc) {
  EXPECT_EQ(Hex(Md2({})), "8350e5a3e24c153df2275c9f80692773");
  EXPECT_EQ(Hex(Md2(Bytes("a"))), "32ec01ec4a6dac72c0ab96fb34c0b5d1");
  EXPECT_EQ(Hex(Md2(Bytes("abc"))), "da853b0d3f88d99b30283a69e6ded6bb");
  EXPECT_EQ(Hex(Md2(Bytes("message digest"))), "ab4f496bfb2a530b219ff33031fe06b0");
  EXPECT_EQ(Hex(Md2(Bytes("abcdefghijklmnopqrstuvwxyz"))), "4e8ddff3650292ab5a4108c3aa47940b");
  EXPECT_EQ(Hex(Md2(Bytes("12345678901234567890123456789012345678901234567890123456789012345678901234567890"))),
            "d5976f79d83d3a0dc9806c3c66f3efd8");
}

// RFC 2104 spelled out: H(key ^ outer, H(key ^ inner, text)).
TEST(HmacMd2, IsTheHashOfTheHash) {
  const std::string key(16, 'k'), text = "some message";
  std::string inner(16, 'k' ^ 0x36), outer(16, 'k' ^ 0x5c);
  const Md2Digest first = Md2(Bytes(inner + text));
  outer.append(first.begin(), first.end());
  EXPECT_EQ(HmacMd2(Bytes(key), Bytes(text)), Md2(Bytes(outer)));
  EXPECT_NE(HmacMd2(Bytes(key), Bytes(text)), HmacMd2(Bytes(key), Bytes("some messagf")));
}

}  // namespace
}  // namespace tutti::client
