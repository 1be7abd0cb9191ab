// Numbers that are put into the set and taken out by several threads, in every order of steps.
#include <gtest/gtest.h>

#include "base/testing/every_order.h"
#include "server/hot_set.h"

namespace tutti::server {
namespace {

using namespace interleavings;

using Set = BasicHotSet<Word>;

// One thread puts a number in and scans, while others take their own out and put them in again.
class Numbers final : public Threads {
 public:
  Numbers(std::vector<uint32_t> others, bool for_certain) {
    set_ = std::make_unique<Set>();
    Know(set_.get(), sizeof *set_);
    for (const uint32_t other : others) {
      set_->Insert(other);
      Start("other", [this, other] {
        set_->Erase(other);
        set_->Insert(other);
        set_->Erase(other);
      });
    }
    Start("scan", [this, for_certain] {
      set_->Insert(kNumber);
      bool found = false;
      const auto look = [&found](uint32_t number) { found = found || number == kNumber; };
      for_certain ? set_->ForEachForCertain(look) : set_->ForEach(look);
      if (!found) Fail("it is not found");
    });
  }

 private:
  static constexpr uint32_t kNumber = 3;
  std::unique_ptr<Set> set_;
};

Outcome Try(const std::vector<uint32_t>& others, bool for_certain) {
  return Explore([&] { return std::make_unique<Numbers>(others, for_certain); });
}

using HotSetInterleavings = EveryOrderTest;

TEST_F(HotSetInterleavings, WhatIsInTheSetIsFoundForCertainWhoeverElseIsTakenOut) {
  for (const std::vector<uint32_t>& others : {std::vector<uint32_t>{2}, {2, 4}, {70}, {2, 70}}) {
    ExpectNoProblem(Try(others, true), 30);
  }
}

// Which is why nobody goes to sleep after such a scan.
TEST_F(HotSetInterleavings, AHintMissesItWhileItsNeighbourIsTakenOut) { ExpectProblem(Try({2}, false), "not found"); }

}  // namespace
}  // namespace tutti::server
