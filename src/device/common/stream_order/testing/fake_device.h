// A stream engine over a device that does what its test says.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device/common/stream_order/stream_engine.h"

namespace tutti::device::testing {

// Keeps what it is given, by stream, in order. Runs and reports nothing by itself.
class FakeDevice : public StreamEngine::Owner, public Sink {
 public:
  struct Given {
    Operation* operation;
    uint64_t ticket;
    std::optional<std::pair<uint32_t, uint64_t>> joins = {};  // another stream, up to a ticket
    bool timed = false;  // an event
  };

  Begun Start(Operation* operation) override {
    const uint32_t stream = operation->stream->number;
    EXPECT_TRUE(operation->stream->device != 0 || error == 0);
    given[stream].push_back({operation, operation->ticket});
    return issues ? Begun::kIssued : Begun::kRuns;
  }
  void Join(Operation* operation, const Stream& other) override {
    EXPECT_TRUE(issues);
    given[operation->stream->number].push_back(
        {operation, operation->ticket, std::pair(other.number, operation->other_ticket)});
  }
  bool Time(Operation* event) override {
    if (issues) given[event->stream->number].push_back({event, event->ticket, std::nullopt, true});
    return issues;
  }
  void TaskOver(Operation* operation) override { over.push_back(operation->ticket); }
  uint32_t ValueOf(uint32_t, uint64_t condition) const override { return values.at(condition); }
  void SetValueOf(uint32_t, uint64_t condition, uint32_t value) override { values[condition] = value; }
  int32_t DeviceError(uint32_t) const override { return error; }

  bool Completed(uint32_t stream, uint64_t ticket) override {
    EXPECT_GT(ticket, completed[stream]);
    completed[stream] = ticket;
    return false;
  }
  void Wake(uint32_t) override {}
  void EventReached(uint32_t event, uint64_t now_ns) override {
    events.push_back(event);
    times[event] = now_ns;
  }
  void HostCallReached(uint32_t stream, uint64_t token, int32_t) override { calls.emplace_back(stream, token); }
  void Printed(std::string_view) override {}
  void AssertFailed(std::string_view) override {}
  void Faulted(uint32_t, const Fault&) override {}
  void MemoryUsed(uint32_t, uint64_t) override {}

  bool issues = false;
  int32_t error = 0;
  std::map<uint32_t, std::deque<Given>> given;
  std::map<uint64_t, uint32_t> values;  // by condition
  std::vector<uint64_t> over;  // tickets of tasks
  std::map<uint32_t, uint64_t> completed;
  std::vector<uint32_t> events;
  std::map<uint32_t, uint64_t> times;  // of these
  std::vector<std::pair<uint32_t, uint64_t>> calls;
};

struct Harness {
  void Create(uint32_t number, const StreamOptions& options = {.non_blocking = true}) {
    ASSERT_TRUE(engine.Create(number, options));
  }
  // Its ticket.
  template <typename Set>
  uint64_t Submit(uint32_t stream, Operation::Kind kind, Set set) {
    Stream* const found = engine.Find(stream);
    EXPECT_TRUE(StreamEngine::Admit(found, kind));
    Operation* const operation = engine.NewOperation(kind, ++ticket).value();
    set(operation);
    engine.Enqueue(found, operation);
    return ticket;
  }
  uint64_t Submit(uint32_t stream, Operation::Kind kind) {
    return Submit(stream, kind, [](Operation*) {});
  }
  uint64_t SubmitWait(uint32_t stream, uint32_t other, uint64_t until) {
    return Submit(stream, Operation::Kind::kWait, [&](Operation* wait) {
      wait->other_stream = other;
      wait->other_ticket = until;
    });
  }
  uint64_t SubmitCall(uint32_t stream, uint64_t token) {
    return Submit(stream, Operation::Kind::kHostCall, [&](Operation* call) { call->token = token; });
  }
  // The device has done the first `count` of what it was given in the stream.
  void Done(uint32_t stream, size_t count = 1) {
    auto& given = device.given[stream];
    ASSERT_GE(given.size(), count);
    Operation* const last = given[count - 1].operation;
    given.erase(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count));
    engine.TaskDone(last);
  }

  MemoryAccount host_memory{uint64_t{1} << 40};
  HostShare host{&host_memory, uint64_t{1} << 40};
  FakeDevice device;
  StreamEngine engine{&device, &device, [] { return new Operation; }, 1 << 20, &host};
  uint64_t ticket = 0;
};

}  // namespace tutti::device::testing
