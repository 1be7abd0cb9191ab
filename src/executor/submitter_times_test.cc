// Times that a submitter tells, and what they cost the driver.
#include <gmock/gmock.h>

#include "executor/testing/submitter_fixture.h"

namespace tutti::executor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(SubmitterTest, ATimeIsToldByAnEventThatIsTheMarkAsWell) {
  Open(0);
  Time(0, 1);
  Copy(0, 2);
  Time(0, 3);
  Step();
  EXPECT_EQ(done(0), 3u);
  EXPECT_NE(time(0, 1), 0u);
  EXPECT_EQ(time(0, 3), time(0, 1) + 250'000);
  EXPECT_THAT(driver_.calls,
              ElementsAre(HasSubstr("record"), HasSubstr("copy"), HasSubstr("record"), HasSubstr("time")));
}

TEST_F(SubmitterTest, AStreamWithoutTimesCostsTheDriverNothingMore) {
  Open(0);
  Open(1);
  Time(1, 1);
  Step();
  driver_.calls.clear();
  Copy(0, 1);
  Copy(0, 2);
  Step();
  EXPECT_EQ(done(0), 2u);
  EXPECT_THAT(driver_.calls, ElementsAre(HasSubstr("copy"), HasSubstr("copy"), HasSubstr("record")));
}

TEST_F(SubmitterTest, AWaitForATimeIsForItsEvent) {
  driver_.reached = false;
  Open(0);
  Open(1);
  Copy(0, 1);
  Time(0, 2);
  Copy(0, 3);
  Wait(1, 1, 0, 2);
  Step();
  EXPECT_THAT(driver_.calls, ElementsAre(HasSubstr("copy"), "record 3 in 1", HasSubstr("copy"), "wait for 3 in 2",
                                         HasSubstr("record"), HasSubstr("record")));
}

TEST_F(SubmitterTest, ATimeThatIsNotReachedIsNotTold) {
  driver_.reached = false;
  Open(0);
  Time(0, 1);
  Step();
  EXPECT_EQ(done(0), 0u);
  EXPECT_EQ(time(0, 1), 0u);
}

}  // namespace
}  // namespace tutti::executor
