#include "wire/graph_description.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tutti::wire {
namespace {

template <typename Body>
std::span<const uint8_t> BytesOf(const Body& body) {
  return {reinterpret_cast<const uint8_t*>(&body), sizeof body};
}

constexpr LaunchBody kLaunch{.kernel = 7, .grid = {2, 1, 1}, .block = {32, 1, 1}, .argument_bytes = 200};
constexpr CopyBody kCopy{.destination = 4096, .source = 8192, .row_bytes = 16, .rows = 1, .planes = 1};

std::vector<uint8_t> Arguments() {
  std::vector<uint8_t> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  return bytes;
}

// A launch, a copy behind it, and a joint behind both.
std::vector<uint8_t> Good() {
  GraphWriter writer;
  writer.Add(RecordKind::kLaunch, {}, BytesOf(kLaunch), Arguments(), 77, false);
  const uint32_t first[] = {0}, both[] = {0, 1};
  writer.Add(RecordKind::kCopy, first, BytesOf(kCopy));
  writer.Add(RecordKind::kMarker, both);
  return writer.Take();
}

bool IsGood(RecordKind kind, std::span<const uint32_t> before, std::span<const uint8_t> body) {
  GraphWriter writer;
  writer.Add(kind, before, body);
  return ParseGraph(writer.Take()).has_value();
}

TEST(GraphDescription, IsReadAsItWasWritten) {
  const auto nodes = ParseGraph(Good());
  ASSERT_TRUE(nodes) << nodes.error().text;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[0].launch.kernel, 7u);
  EXPECT_EQ((*nodes)[0].arguments, Arguments());
  EXPECT_EQ((*nodes)[0].device_node, 77u);
  EXPECT_FALSE((*nodes)[0].enabled);
  EXPECT_TRUE((*nodes)[1].enabled);
  EXPECT_EQ((*nodes)[1].copy.source, 8192u);
  EXPECT_EQ((*nodes)[1].before, std::vector<uint32_t>{0});
  EXPECT_EQ((*nodes)[2].kind, RecordKind::kMarker);
  EXPECT_EQ((*nodes)[2].before, (std::vector<uint32_t>{0, 1}));
}

TEST(GraphDescription, EveryPieceOfOneIsRefused) {
  const std::vector<uint8_t> good = Good();
  for (size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_FALSE(ParseGraph(std::span(good).first(bytes))) << bytes << " bytes of it";
  std::vector<uint8_t> longer = good;
  longer.push_back(0);
  EXPECT_FALSE(ParseGraph(longer));
}

TEST(GraphDescription, NoNodeWaitsForItselfOrALaterOne) {
  const uint32_t itself[] = {0}, later[] = {1};
  EXPECT_TRUE(IsGood(RecordKind::kMarker, {}, {}));
  EXPECT_FALSE(IsGood(RecordKind::kMarker, itself, {}));
  EXPECT_FALSE(IsGood(RecordKind::kMarker, later, {}));
}

TEST(GraphDescription, OnlyLaunchesAreChangedByKernels) {
  for (const RecordKind kind : {RecordKind::kLaunch, RecordKind::kCopy}) {
    GraphWriter named, disabled;
    const auto body = kind == RecordKind::kCopy ? BytesOf(kCopy) : BytesOf(kLaunch);
    named.Add(kind, {}, body, Arguments(), 77);
    disabled.Add(kind, {}, body, Arguments(), 0, false);
    EXPECT_EQ(ParseGraph(named.Take()).has_value(), kind == RecordKind::kLaunch);
    EXPECT_EQ(ParseGraph(disabled.Take()).has_value(), kind == RecordKind::kLaunch);
  }
}

TEST(GraphDescription, WorkIsCheckedAsThatOfRecords) {
  EXPECT_TRUE(IsGood(RecordKind::kCopy, {}, BytesOf(kCopy)));
  CopyBody copy = kCopy;
  copy.rows = ~uint64_t{0};
  copy.source_pitch = 16;
  EXPECT_FALSE(IsGood(RecordKind::kCopy, {}, BytesOf(copy)));
  EXPECT_FALSE(IsGood(RecordKind::kFill, {}, BytesOf(FillBody{.width = 1, .height = 1, .element_bytes = 3})));
  LaunchBody launch = kLaunch;
  launch.argument_bytes = 0;
  EXPECT_TRUE(IsGood(RecordKind::kLaunch, {}, BytesOf(launch)));
  launch.flags = kLaunchCooperative;
  EXPECT_FALSE(IsGood(RecordKind::kLaunch, {}, BytesOf(launch)));
  launch.flags = kLaunchArgumentsInWindow;
  EXPECT_FALSE(IsGood(RecordKind::kLaunch, {}, BytesOf(launch)));
  launch.flags = 0;
  launch.argument_bytes = 1000;
  EXPECT_FALSE(IsGood(RecordKind::kLaunch, {}, BytesOf(launch))) << "more arguments than there are";
  EXPECT_FALSE(IsGood(RecordKind::kHostCall, {}, {}));
  EXPECT_FALSE(IsGood(RecordKind::kGraphLaunch, {}, {}));
}

}  // namespace
}  // namespace tutti::wire
