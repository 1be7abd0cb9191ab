// Whatever a device does first, no record happens before what it comes after: random programs, checked by the orders
// that CUDA promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "device/common/stream_order/stream_engine.h"
#include "device/common/stream_order/testing/fake_device.h"

namespace tutti::device {
namespace {

using Kind = Operation::Kind;

struct Record {
  Kind kind;
  uint32_t stream;
  std::vector<size_t> after;  // records that it comes after
  bool happened = false;  // the device has run it; it was reached, answered, released
  // It has happened, as what it comes after has: all of it, or what happens on the device and in the client.
  bool over = false;
  bool run = false;
};

class PromisedOrder {
 public:
  // The orders of CUDA: in a stream; between a legacy stream and the blocking ones of its context; of waits.
  void Add(Kind kind, uint32_t stream, const std::map<uint32_t, StreamOptions>& streams,
           const std::vector<size_t>& waits_for) {
    Record record{.kind = kind, .stream = stream, .after = waits_for};
    const StreamOptions& own = streams.at(stream);
    for (const auto& [number, other] : streams) {
      const bool legacy_order =
          !own.non_blocking && !other.non_blocking && own.context == other.context && own.legacy != other.legacy;
      if ((number == stream || legacy_order) && last_.contains(number)) record.after.push_back(last_[number]);
    }
    records_.push_back(record);
    last_[stream] = records_.size() - 1;
  }
  bool Over(size_t number) {
    Record& record = records_[number];
    const bool happens = record.kind != Kind::kMark && record.kind != Kind::kWait;
    if (!record.over && (!happens || record.happened)) record.over = AllBefore(number);
    return record.over;
  }
  bool Run(size_t number) {
    Record& record = records_[number];
    const bool runs = record.kind == Kind::kTask || record.kind == Kind::kHostCall;
    if (!record.run && (!runs || record.happened)) record.run = AllRunBefore(number);
    return record.run;
  }
  void Happens(size_t number) {
    EXPECT_FALSE(records_[number].happened);
    records_[number].happened = true;
  }
  bool AllBefore(size_t number) {
    return std::ranges::all_of(records_[number].after, [this](size_t earlier) { return Over(earlier); });
  }
  bool AllRunBefore(size_t number) {
    return std::ranges::all_of(records_[number].after, [this](size_t earlier) { return Run(earlier); });
  }
  const std::vector<Record>& records() const { return records_; }
  const std::map<uint32_t, size_t>& last() const { return last_; }

 private:
  std::vector<Record> records_;
  std::map<uint32_t, size_t> last_;  // by stream
};

// Submits records, and has device and client do what they may, in random order. Records are numbered from 0, their
// tickets from 1; tokens, events and addresses are tickets, too.
class RandomPlay : private testing::Harness {
 public:
  RandomPlay(uint32_t seed, bool issues) : random_(seed) {
    device.issues = issues;
    for (uint32_t number = 1; number <= kStreams; ++number) {
      StreamOptions& options = options_[number];
      options = {.context = Random(2), .legacy = Random(4) == 0, .non_blocking = Random(2) == 0};
      if (options.legacy) options.non_blocking = false;
      Create(number, options);
    }
  }

  void Play() {
    while (program_.records().size() < kRecords) {
      if (Random(3) != 0) SubmitAny();
      if (Random(2) != 0) Step();
      if (::testing::Test::HasFailure()) return;
    }
    for (int idle = 0; idle < 1000 && !::testing::Test::HasFailure(); ++idle) {
      if (Step()) idle = 0;
    }
    for (size_t i = 0; i < program_.records().size(); ++i) EXPECT_TRUE(program_.Over(i)) << "record " << i;
    for (const auto& [stream, record] : program_.last()) EXPECT_EQ(device.completed[stream], record + 1);
    const auto is_task = [](const Record& record) { return record.kind == Kind::kTask; };
    EXPECT_EQ(device.over.size(), static_cast<size_t>(std::ranges::count_if(program_.records(), is_task)));
  }
  size_t joins() const { return joins_; }

 private:
  static constexpr uint32_t kStreams = 6;
  static constexpr size_t kRecords = 60;

  uint32_t Random(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void SubmitAny() {
    constexpr Kind kKinds[] = {Kind::kTask, Kind::kTask, Kind::kTask, Kind::kEvent,   Kind::kWait,
                               Kind::kWait, Kind::kFree, Kind::kMark, Kind::kHostCall};
    const Kind kind = kKinds[Random(std::size(kKinds))];
    const uint32_t stream = 1 + Random(kStreams), other = 1 + Random(kStreams);
    const uint64_t until = 1 + Random(static_cast<uint32_t>(ticket + 1));
    std::vector<size_t> waits_for;
    for (size_t i = 0; i < program_.records().size() && i < until && kind == Kind::kWait; ++i) {
      if (program_.records()[i].stream == other) waits_for.push_back(i);
    }
    program_.Add(kind, stream, options_, waits_for);
    Submit(stream, kind, [&](Operation* operation) {
      operation->event = static_cast<uint32_t>(ticket);
      operation->token = operation->freed = ticket;
      operation->other_stream = other;
      operation->other_ticket = until;
    });
    NoteReports();
  }

  // What the engine has said since. Events and frees are reported in the order in which they become due, so each makes
  // the next one possible.
  void NoteReports() {
    std::vector<uint64_t> due;
    for (const uint32_t event : std::exchange(device.events, {})) due.push_back(event);
    for (const Deferred& item : engine.TakeReleased()) due.push_back(item.address);
    for (const uint64_t one : due) program_.Happens(one - 1);
    for (const uint64_t one : due) EXPECT_TRUE(program_.AllBefore(one - 1)) << "record " << one - 1 << " comes early";
    for (; noted_calls_ < device.calls.size(); ++noted_calls_) {
      const uint64_t token = device.calls[noted_calls_].second;
      EXPECT_TRUE(program_.AllBefore(token - 1)) << "call " << token - 1 << " comes early";
    }
    for (const auto& [stream, done] : device.completed) {
      for (size_t i = 0; i < done; ++i) {
        if (program_.records()[i].stream != stream) continue;
        EXPECT_TRUE(program_.Over(i)) << "record " << i << " is reported early";
      }
    }
  }

  // Lets the device, or the client, do one thing: false if the one that was chosen has nothing to do.
  bool Step() {
    if (Random(4) == 0) return AnswerCall();
    const uint32_t stream = 1 + Random(kStreams);
    return Random(2) == 0 ? RunNext(stream) : Report(stream);
  }

  bool AnswerCall() {
    if (device.calls.empty()) return false;
    const size_t which = Random(static_cast<uint32_t>(device.calls.size()));
    const auto [stream, token] = device.calls[which];
    device.calls.erase(device.calls.begin() + static_cast<std::ptrdiff_t>(which));
    --noted_calls_;
    program_.Happens(token - 1);
    engine.HostCallDone(stream, token);
    NoteReports();
    return true;
  }

  // The device goes on in the stream.
  bool RunNext(uint32_t stream) {
    const auto& given = device.given[stream];
    size_t& run = run_[stream];
    if (run == given.size()) return false;
    const testing::FakeDevice::Given& next = given[run];
    if (next.joins) {
      const auto& [other, until] = *next.joins;
      for (size_t i = run_[other]; i < device.given[other].size(); ++i) {
        if (device.given[other][i].ticket <= until) return false;
      }
      ++joins_;
    } else {
      EXPECT_TRUE(program_.AllRunBefore(next.ticket - 1)) << "task " << next.ticket - 1 << " runs early";
      if (!next.timed) program_.Happens(next.ticket - 1);  // an event does when it is reported
    }
    ++run;
    return true;
  }

  // The device reports some of what it has run.
  bool Report(uint32_t stream) {
    size_t& run = run_[stream];
    if (run == 0) return false;
    const size_t count = 1 + Random(static_cast<uint32_t>(run));
    run -= count;
    Done(stream, count);
    NoteReports();
    return true;
  }

  std::mt19937 random_;
  std::map<uint32_t, StreamOptions> options_;
  PromisedOrder program_;
  std::map<uint32_t, size_t> run_;  // of what is given in a stream
  size_t noted_calls_ = 0;
  size_t joins_ = 0;
};

TEST(RandomStreams, NothingHappensBeforeWhatItComesAfterWhetherTasksAreIssuedOrNot) {
  size_t joins = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomPlay play(seed, seed % 2 == 0);
    play.Play();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "with seed " << seed;
    joins += play.joins();
  }
  EXPECT_GT(joins, 1000u);
}

}  // namespace
}  // namespace tutti::device
