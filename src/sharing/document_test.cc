#include "sharing/document.h"

#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

Value Read(const char* text) { return ReadDocument(text, "file.yaml").value(); }

TEST(Document, AnUnknownKeyIsNamedWithItsLineAndTheNearestOne) {
  const auto status = Read("version: v1\nsharring: {}\n").OnlyKeys({"version", "flags", "sharing"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().text, "file.yaml:2: unknown key \"sharring\" in the file; did you mean sharing?");
}

TEST(Document, AKeyThatIsNearNothingGetsTheListOfKeys) {
  const auto status = Read("x: 1").OnlyKeys({"version", "flags"});
  EXPECT_EQ(status.error().text, "file.yaml:1: unknown key \"x\" in the file; there are: version, flags");
}

TEST(Document, AKeyThatStandsTwiceIsRefused) {
  EXPECT_EQ(Read("a: 1\na: 2\n").OnlyKeys({"a"}).error().text,
            "file.yaml:2: key \"a\" stands twice in the file: remove one");
}

TEST(Document, JsonIsReadAsWell) {
  const Value json = Read("{\n\t\"a\": {\"b\": [1, \"2\"]}}");
  const auto list = json.Find("a")->Find("b")->Items().value();
  EXPECT_EQ(list[0].Integer().value(), 1);
  EXPECT_TRUE(list[1].IsQuoted());
  EXPECT_EQ(list[1].Integer().error().text, "file.yaml:2: a.b[1] must be a whole number, but is \"2\"");
}

TEST(Document, ValuesOfTheWrongKindAreNamed) {
  const Value value = Read("a: [1]\nb: maybe\nc: nan\nd: mpss\n");
  EXPECT_EQ(value.Find("a")->Text().error().text, "file.yaml:1: a must be text, but is a list");
  EXPECT_EQ(value.Find("b")->Boolean().error().text, "file.yaml:2: b must be true or false, but is \"maybe\"");
  EXPECT_FALSE(value.Find("c")->Number());
  EXPECT_EQ(value.Find("d")->OneOf({"mps", "none"}).error().text,
            "file.yaml:4: d cannot be \"mpss\"; did you mean mps?");
}

TEST(Document, TextThatIsNoYamlIsRefusedWithItsLine) {
  const auto broken = ReadDocument("a: 1\nb: [1, 2\n", "file.yaml");
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().text.starts_with("file.yaml:3: ")) << broken.error().text;
}

TEST(Document, DeepNestingIsRefusedNotACrash) { EXPECT_FALSE(ReadDocument(std::string(100'000, '['), "file.yaml")); }

TEST(Document, AnEmptyFileIsAnEmptyMap) {
  EXPECT_TRUE(Read("").OnlyKeys({}).has_value());
  EXPECT_FALSE(Read("").Find("a"));
}

TEST(Document, OneFileMayHoldSeveralDocuments) {
  EXPECT_EQ(ReadDocuments("a: 1\n---\na: 2\n", "f").value().size(), 2u);
  EXPECT_EQ(ReadDocument("a: 1\n---\na: 2\n", "f").error().text, "f:3: a second document starts here; one is expected");
}

}  // namespace
}  // namespace tutti::sharing
