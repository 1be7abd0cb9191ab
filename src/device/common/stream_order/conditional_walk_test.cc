// A stream's way through nodes within each other is the one that a recursion takes.
#include "device/common/stream_order/conditional_walk.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tutti::device {
namespace {

using Kind = Operation::Kind;

// A conditional node of random shape, as records; which are tasks, numbered, or such nodes.
class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) { Node(0); }

  Operation* begin() { return &records_.front(); }
  // Follows the records by recursion. Values come from `values`, in the order in which nodes are reached.
  std::vector<uint64_t> Expected(std::mt19937& values) {
    std::vector<uint64_t> tasks;
    Operation* at = begin();
    RunNode(at, values, &tasks);
    return tasks;
  }
  static uint32_t Value(std::mt19937& values) { return static_cast<uint32_t>(values() % 3); }

 private:
  Operation* Add(Kind kind) {
    Operation& added = records_.emplace_back();
    added.kind = kind;
    added.ticket = records_.size();
    if (records_.size() > 1) records_[records_.size() - 2].next = &added;
    return &added;
  }
  void Node(int depth) {
    Operation* const begin = Add(Kind::kConditional);
    begin->conditional = static_cast<wire::ConditionalKind>(random_() % 3);
    const uint32_t bodies = begin->conditional == wire::ConditionalKind::kWhile ? 1 : 1 + random_() % 3;
    for (uint32_t i = 0; i < bodies; ++i) {
      Add(Kind::kBody)->number = i;
      for (uint32_t items = random_() % 4; items > 0; --items) {
        if (depth < 4 && random_() % 2 == 0)
          Node(depth + 1);
        else
          Add(Kind::kTask);
      }
    }
    Add(Kind::kConditionalEnd);
  }
  // Runs, or passes over, what lies between two marks of a node.
  void RunBody(Operation*& at, std::mt19937* values, std::vector<uint64_t>* tasks) {
    while (at->kind != Kind::kBody && at->kind != Kind::kConditionalEnd) {
      if (at->kind == Kind::kConditional) {
        if (values != nullptr) {
          RunNode(at, *values, tasks);
        } else {
          SkipNode(at);
        }
        continue;
      }
      if (values != nullptr) tasks->push_back(at->ticket);
      at = at->next;
    }
  }
  void SkipNode(Operation*& at) {
    for (at = at->next; at->kind == Kind::kBody;) RunBody(at = at->next, nullptr, nullptr);
    at = at->next;
  }
  void RunNode(Operation*& at, std::mt19937& values, std::vector<uint64_t>* tasks) {
    Operation* const node = at;
    for (;;) {
      const uint32_t body = ConditionalWalk::BodyFor(node->conditional, Value(values));
      bool ran = false;
      for (at = node->next; at->kind == Kind::kBody;) {
        const bool runs = at->number == body;
        ran = ran || runs;
        RunBody(at = at->next, runs ? &values : nullptr, tasks);
      }
      Operation* const end = at;
      at = end->next;
      if (node->conditional != wire::ConditionalKind::kWhile || !ran) return;
    }
  }

  std::mt19937 random_;
  std::deque<Operation> records_;
};

TEST(ConditionalWalk, GoesTheWayOfARecursion) {
  uint64_t all = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Program program(seed);
    std::mt19937 values(seed), same(seed);
    const std::vector<uint64_t> expected = program.Expected(values);
    std::vector<uint64_t> tasks;
    ConditionalWalk walk;
    Operation* at = program.begin();
    do {
      if (!walk.StepsOver(*at)) {
        if (at->kind == Kind::kConditional)
          at->number = ConditionalWalk::BodyFor(at->conditional, Program::Value(same));
        if (at->kind == Kind::kTask) tasks.push_back(at->ticket);
      }
      at = walk.Pass(at, false);
    } while (at != nullptr);
    ASSERT_EQ(tasks, expected) << seed;
    EXPECT_TRUE(walk.outside());
    all += tasks.size();
  }
  EXPECT_GT(all, 1000u);
}

// A loop around nothing, whose value stays 1.
TEST(ConditionalWalk, RestsBetweenRecordsThatRunNothing) {
  Operation begin, body, end;
  begin.kind = Kind::kConditional;
  begin.conditional = wire::ConditionalKind::kWhile;
  body.kind = Kind::kBody;
  end.kind = Kind::kConditionalEnd;
  begin.next = &body;
  body.next = &end;
  ConditionalWalk walk;
  Operation* at = &begin;
  uint32_t rests = 0;
  for (uint32_t step = 0; step < 10 * ConditionalWalk::kMostSteps; ++step) {
    if (walk.Rest(at) != nullptr) {
      EXPECT_EQ(walk.Rest(at), &begin);
      ++rests;
      walk.NoteTask();
    }
    at = walk.Pass(at, false);
    ASSERT_NE(at, nullptr);
  }
  EXPECT_EQ(rests, 9u);
  while (at != nullptr) at = walk.Pass(at, true);  // the device has failed
  EXPECT_TRUE(walk.outside());
  EXPECT_EQ(walk.Rest(&begin), nullptr);
}

}  // namespace
}  // namespace tutti::device
