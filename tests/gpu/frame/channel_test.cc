#include "frame/channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "frame/progress.h"
#include "frame/record.h"
#include "frame/settings.h"

namespace tutti::gpu {
namespace {

void ExpectOf(bool ends) {
  auto [own, others] = Channel::Pair();
  if (ends) others.Reset();
  const auto report = Channel::Pair();
  GiveUpBy(report.first.get());
  dup2(MakeProgressPage(), kProgressFd);
  JoinProgress("peer");
  EnterCall("cuCtxSynchronize");
  Channel(std::move(own)).Expect("done", "peer", 0.01);
}

TEST(Channel, WhoSaysNothingIsToldFromWhoHasEnded) {
  EXPECT_EXIT(ExpectOf(true), testing::ExitedWithCode(kGaveUp), "^peer ended where \"done\" was expected\n$");
  EXPECT_EXIT(ExpectOf(false), testing::ExitedWithCode(kGaveUp),
              "^peer said nothing for 0.01 s where \"done\" was expected, inside cuCtxSynchronize of peer\n$");
}

}  // namespace
}  // namespace tutti::gpu
