// The ring, and what an executor makes of its records, with a driver that notes what it is told.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "executor/protocol/request.h"
#include "executor/submitter.h"
#include "executor/testing/submitter_fixture.h"
#include "executor/text_capture.h"
#include "os/fd.h"

namespace tutti::executor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace cuda;

TEST_F(SubmitterTest, WhatIsDoneIsWhatTheEventBehindItSays) {
  driver_.reached = false;
  Open(0);
  Copy(0, 1);
  Copy(0, 2);
  Step();
  EXPECT_EQ(exchange_->streams[0].issued.load(), 2u);
  EXPECT_EQ(done(0), 0u) << "the driver has not said so";
  EXPECT_THAT(driver_.calls, ElementsAre(HasSubstr("copy"), HasSubstr("copy"), HasSubstr("record")));
  driver_.reached = true;
  Step();
  EXPECT_EQ(done(0), 2u);
}

TEST_F(SubmitterTest, RowsOfAPitchThatTheDriverRefusesAreCopiedOneByOne) {
  driver_.copies_of_rows = CUDA_ERROR_INVALID_VALUE;
  Open(0);
  writer_.Add({.kind = DispatchKind::kCopy, .stream = 0, .sequence = 1}, CopyDispatch{.destination = 200,
                                                                                      .source = 100,
                                                                                      .row_bytes = 8,
                                                                                      .rows = 2,
                                                                                      .planes = 1,
                                                                                      .destination_pitch = 16,
                                                                                      .source_pitch = 8});
  Step();
  ASSERT_GE(driver_.calls.size(), 2u);
  EXPECT_THAT(driver_.calls[0], HasSubstr("copy 8 from 100 to 200"));
  EXPECT_THAT(driver_.calls[1], HasSubstr("copy 8 from 108 to 216"));
  EXPECT_FALSE(submitter_.failed());
}

TEST_F(SubmitterTest, AWaitIsForWhatTheOtherStreamHasBeenGiven) {
  Open(0);
  Open(1);
  Copy(0, 1);
  Wait(1, 1, 0, 1);
  Copy(1, 2);
  Step();
  ASSERT_GE(driver_.calls.size(), 4u);
  EXPECT_THAT(driver_.calls[0], HasSubstr("copy 8 from 100 to 200 in 1"));
  EXPECT_THAT(driver_.calls[1], HasSubstr("in 1")) << "recorded in the other stream, behind its copy";
  EXPECT_THAT(driver_.calls[2], HasSubstr("wait for"));
  EXPECT_THAT(driver_.calls[2], HasSubstr("in 2"));
  EXPECT_THAT(driver_.calls[3], HasSubstr("copy 8 from 100 to 200 in 2"));
  EXPECT_EQ(done(0), 1u);
  EXPECT_EQ(done(1), 2u);
}

TEST_F(SubmitterTest, AWaitIsForNothingBehindThePointThatWasNoted) {
  driver_.reached = false;
  Open(0);
  Open(1);
  Copy(0, 1);
  Point(0);
  Copy(0, 2);
  Wait(1, 1, 0, 1);
  Step();
  ASSERT_GE(driver_.calls.size(), 4u);
  EXPECT_THAT(driver_.calls[1], HasSubstr("record"));
  EXPECT_THAT(driver_.calls[2], HasSubstr("copy"));
  EXPECT_EQ(driver_.calls[3], "wait for " + driver_.calls[1].substr(7, driver_.calls[1].find(" in ") - 7) + " in 2");
}

TEST_F(SubmitterTest, AWaitForWhatTheOtherStreamWasNotGivenIsRefused) {
  Open(0);
  Open(1);
  Copy(0, 1);
  Wait(1, 1, 0, 2);
  Step();
  EXPECT_TRUE(submitter_.failed());
  EXPECT_EQ(exchange_->failure.load(), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SubmitterTest, ACallThatFailsEndsItAllAndIsSaid) {
  exchange_->server_sleeps = 1;
  driver_.copies = CUDA_ERROR_INVALID_VALUE;
  Open(0);
  Copy(0, 1);
  Copy(0, 2);
  Step();
  EXPECT_TRUE(submitter_.failed());
  EXPECT_EQ(exchange_->failure.load(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(std::string(exchange_->failure_text), HasSubstr("cuMemcpyAsync"));
  EXPECT_EQ(driver_.calls.size(), 1u) << "nothing more is given to the driver";
  eventfd_t rings = 0;
  EXPECT_EQ(eventfd_read(bell_.get(), &rings), 0) << "the server sleeps on";
}

TEST_F(SubmitterTest, RecordsOutOfTheirOrderAreRefused) {
  Open(0);
  Copy(0, 2);
  Step();
  EXPECT_TRUE(submitter_.failed());
  EXPECT_TRUE(driver_.calls.empty());
}

TEST_F(SubmitterTest, StreamsThatThereAreNotAreRefused) {
  for (const uint32_t stream : {1u, kMostStreams, ~0u}) {
    const std::unique_ptr<Exchange> exchange(new Exchange());
    DispatchWriter writer(exchange.get());
    Submitter submitter(vendor_, &modules_, exchange.get(), bell_.get());
    writer.Add({.kind = DispatchKind::kCopy, .stream = stream, .sequence = 1}, CopyDispatch{});
    writer.Publish();
    submitter.Step();
    EXPECT_TRUE(submitter.failed()) << stream;
  }
}

TEST_F(SubmitterTest, AKernelThatThereIsNotIsRefused) {
  Open(0);
  writer_.Add({.kind = DispatchKind::kLaunch, .stream = 0, .sequence = 1}, LaunchDispatch{.module = 1});
  Step();
  EXPECT_EQ(exchange_->failure.load(), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SubmitterTest, ArgumentsOfAnotherSizeAreRefused) {
  Open(0);
  writer_.Add({.kind = DispatchKind::kLaunch, .stream = 0, .sequence = 1}, LaunchDispatch{.argument_bytes = 9},
              std::vector<uint8_t>(8));
  Step();
  EXPECT_EQ(exchange_->failure.load(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SubmitterTest, ElementsOfEightBytesAreFilledByHalves) {
  Open(0);
  writer_.Add(
      {.kind = DispatchKind::kFill, .stream = 0, .sequence = 1},
      FillDispatch{
          .destination = 800, .width = 5, .height = 1, .pitch = 0, .value = 7ull << 32 | 3, .element_bytes = 8});
  Step();
  ASSERT_GE(driver_.calls.size(), 2u);
  EXPECT_EQ(driver_.calls[0], "fill 800 pitch 8 with 3 1x5");
  EXPECT_EQ(driver_.calls[1], "fill 804 pitch 8 with 7 1x5");
}

// --- places that share the context

// --- what kernels print

TEST(TextCaptureTest, WhoWaitsForItsServerHoldsUpNoOther) {
  const os::Fd output(dup(STDOUT_FILENO)), error(dup(STDERR_FILENO));
  auto texts = TextCapture::Start();
  const std::unique_ptr<Exchange> one(new Exchange()), two(new Exchange());
  one->printed.produced = kTextBytes;  // full
  std::atomic<int> waits{0};
  std::atomic<bool> served{false};
  const auto print = [](const std::string& text) {
    return write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  };
  bool printed = texts && print("of one");
  std::thread waiting;
  if (texts) {
    waiting = std::thread([&] {
      constexpr int kMostWaits = 100'000;
      texts->HandOn(one.get(), [&] { return !served && ++waits < kMostWaits; });
    });
    while (waits == 0) std::this_thread::yield();
    printed = printed && print("of two");
    texts->HandOn(two.get(), [] { return false; });
    served = true;
    waiting.join();
  }
  dup2(output.get(), STDOUT_FILENO);
  dup2(error.get(), STDERR_FILENO);
  ASSERT_TRUE(texts) << texts.error().text;
  EXPECT_TRUE(printed);
  EXPECT_LT(waits, 100'000) << "it gave up first";
  EXPECT_EQ(std::string(two->printed.bytes, two->printed.bytes + two->printed.produced), "of two");
}

// --- the ring

class RingTest : public testing::Test {
 protected:
  // A record of about `bytes`, filled with `mark`.
  void Add(size_t bytes, uint8_t mark) {
    writer_.Add({.kind = DispatchKind::kLaunch}, LaunchDispatch{}, std::vector<uint8_t>(bytes, mark));
  }
  // The last byte of the next record; -1: there is none.
  int Take() {
    const auto record = reader_.Next();
    EXPECT_TRUE(record);
    return record && !record->empty() ? record->back() : -1;
  }
  void Forge(uint64_t at, const DispatchHead& head, uint64_t tail) {
    std::memcpy(exchange_->ring + at, &head, sizeof head);
    exchange_->tail = tail;
  }

  const std::unique_ptr<Exchange> exchange_{new Exchange()};
  DispatchWriter writer_{exchange_.get()};
  DispatchReader reader_{exchange_.get()};
};

TEST_F(RingTest, RecordsComeInTheirOrderAlsoAroundTheEnd) {
  uint8_t next = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 7; ++i)
      Add(1000 + (size_t{4321} * static_cast<size_t>(i)), static_cast<uint8_t>(round * 7 + i));
    writer_.Publish();
    for (int i = 0; i < 7; ++i) ASSERT_EQ(Take(), next++);
  }
  EXPECT_EQ(Take(), -1);
}

TEST_F(RingTest, WhatFindsNoRoomWaitsAndKeepsItsOrder) {
  constexpr int kRecords = 100;  // three times what fits
  for (int i = 0; i < kRecords; ++i) Add(32000, static_cast<uint8_t>(i));
  writer_.Publish();
  EXPECT_TRUE(writer_.waits());
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_EQ(Take(), i);
    writer_.Publish();
  }
  EXPECT_FALSE(writer_.waits());
}

TEST_F(RingTest, AnExecutorThatHasTakenMoreThanThereWasIsBroken) {
  for (const uint64_t forged : {uint64_t{64}, ~uint64_t{63}, uint64_t{7}}) {
    const std::unique_ptr<Exchange> exchange(new Exchange());
    DispatchWriter writer(exchange.get());
    exchange->head = forged;
    for (int i = 0; i < 40; ++i)
      writer.Add({.kind = DispatchKind::kLaunch}, LaunchDispatch{}, std::vector<uint8_t>(32000));
    EXPECT_EQ(writer.broken(), forged != 64) << forged;
    EXPECT_TRUE(writer.waits());
  }
}

TEST_F(RingTest, ForgedRecordsAreRefused) {
  Forge(0, {.bytes = 3, .kind = DispatchKind::kCopy}, 64);
  EXPECT_FALSE(reader_.Next());
  Forge(0, {.bytes = 65, .kind = DispatchKind::kCopy}, 64);
  EXPECT_FALSE(reader_.Next()) << "more than is there";
  Forge(0, {.bytes = kMostRecordBytes + 1, .kind = DispatchKind::kLaunch}, kRingBytes);
  EXPECT_FALSE(reader_.Next());
  Forge(0, {.bytes = 64, .kind = DispatchKind::kCopy}, 2 * uint64_t{kRingBytes});
  EXPECT_FALSE(reader_.Next());
  Forge(0, {.bytes = ~0u, .kind = DispatchKind::kNothing}, kRingBytes);
  EXPECT_FALSE(reader_.Next());
}

TEST(RequestTest, WhatIsCutShortIsRefused) {
  const auto request = Serialize(Request{.kind = RequestKind::kMapSlab, .address = 1, .bytes = 2});
  const auto answer = Serialize(Answer{.status = 1, .text = "no"});
  const auto hello = Serialize(Hello{});
  EXPECT_EQ(ParseRequest(request)->bytes, 2u);
  EXPECT_EQ(ParseAnswer(answer)->text, "no");
  EXPECT_TRUE(ParseHello(hello));
  for (size_t bytes = 0; bytes < answer.size(); ++bytes) EXPECT_FALSE(ParseAnswer(std::span(answer).first(bytes)));
  for (size_t bytes = 0; bytes < request.size(); ++bytes) EXPECT_FALSE(ParseRequest(std::span(request).first(bytes)));
  EXPECT_FALSE(ParseHello(std::span(hello).first(hello.size() - 1)));
}

// After an upgrade a server that runs finds another executor than the one it came with.
TEST(Protocol, AnExecutorOfAnotherVersionIsRefused) {
  std::vector<uint8_t> bytes = Serialize(Hello{.status = 0, .text = "", .device = {}});
  EXPECT_TRUE(ParseHello(bytes));
  ++bytes[0];
  const auto other = ParseHello(bytes);
  ASSERT_FALSE(other);
  const std::string versions =
      fmt::format("another version ({} in place of {})", kProtocolVersion + 1, kProtocolVersion);
  EXPECT_NE(other.error().text.find(versions), std::string::npos) << other.error().text;
}

}  // namespace
}  // namespace tutti::executor
