#include "ptx/lexer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::ptx {
namespace {

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  Lexer lexer(text);
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd; token = lexer.Next()) {
    words.push_back(token.kind == TokenKind::kInvalid ? "!" : std::string(token.text));
  }
  return words;
}

Token Only(std::string_view text) {
  Lexer lexer(text);
  const Token token = lexer.Next();
  EXPECT_EQ(lexer.Next().kind, TokenKind::kEnd) << text;
  return token;
}

using Strings = std::vector<std::string>;

TEST(LexerTest, AnInstructionFallsIntoWordsAndDotWords) {
  EXPECT_EQ(Words("@!%p1 ld.global.L2::128B.v2.u32 {%r1,$x}, [a_1+-4];"),
            (Strings{"@",  "!", "%p1", "ld", "global", "L2::128B", "v2", "u32", "{", "%r1", ",",
                     "$x", "}", ",",   "[",  "a_1",    "+",        "-",  "4",   "]", ";"}));
}

TEST(LexerTest, CommentsOfBothKindsAreBlank) {
  EXPECT_EQ(Words("a // b c\nd /* e\n f */ g/**/h"), (Strings{"a", "d", "g", "h"}));
}

TEST(LexerTest, PositionsCountLinesThroughComments) {
  Lexer lexer("a\n  /* \n\n */ b");
  lexer.Next();
  const Token b = lexer.Next();
  EXPECT_EQ(b.position.line, 4u);
  EXPECT_EQ(b.position.column, 5u);
}

TEST(LexerTest, IntegersOfAllBases) {
  EXPECT_EQ(Only("0").value, 0u);
  EXPECT_EQ(Only("42").value, 42u);
  EXPECT_EQ(Only("0x1fU").value, 31u);
  EXPECT_EQ(Only("017").value, 15u);
  EXPECT_EQ(Only("0b101").value, 5u);
  EXPECT_EQ(Only("18446744073709551615").value, ~uint64_t{0});
}

TEST(LexerTest, FloatsKeepTheirBits) {
  EXPECT_EQ(Only("0f3F800000").value, 0x3f800000u);
  EXPECT_TRUE(Only("0f3F800000").is_f32);
  EXPECT_EQ(Only("0d3FF0000000000000").value, 0x3ff0000000000000u);
  EXPECT_FALSE(Only("1.0").is_f32);
  EXPECT_EQ(Only("1.0").value, 0x3ff0000000000000u);
  EXPECT_EQ(Only("1e1").value, Only("10.0").value);
}

TEST(LexerTest, WhatIsNoNumberIsInvalid) {
  for (const char* text :
       {"0x", "0xg", "09", "12ab", "0f12", "0f123456789", "18446744073709551616", "1e999", "\x01", "\xff"}) {
    EXPECT_EQ(Lexer(text).Next().kind, TokenKind::kInvalid) << text;
  }
}

TEST(LexerTest, NulAndUnclosedThingsAreInvalidAndEndTheInput) {
  EXPECT_EQ(Words(std::string_view("a\0b", 3)), (Strings{"a", "!", "b"}));
  EXPECT_EQ(Words("a /* b"), (Strings{"a", "!"}));
  EXPECT_EQ(Words("\"abc"), (Strings{"!"}));
  EXPECT_EQ(Words("/"), (Strings{"/"}));
}

TEST(LexerTest, BracesAreSkippedThroughCommentsAndStrings) {
  const std::string_view text = "{ { } // }\n /* } */ \"}\" } after";
  Lexer lexer(text);
  lexer.Next();
  ASSERT_TRUE(lexer.SkipBraces());
  const Token after = lexer.Next();
  EXPECT_EQ(after.text, "after");
  EXPECT_EQ(after.position.line, 2u);
  Lexer open("{ { }");
  open.Next();
  EXPECT_FALSE(open.SkipBraces());
}

}  // namespace
}  // namespace tutti::ptx
