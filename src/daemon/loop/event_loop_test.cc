#include "daemon/loop/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace tutti::daemon {
namespace {

class EventLoopTest : public testing::Test {
 protected:
  EventLoopTest() : loop_(std::move(*EventLoop::Create())) {
    EXPECT_EQ(pipe(fds_), 0);
    EXPECT_EQ(write(fds_[1], "x", 1), 1);
  }
  ~EventLoopTest() override {
    close(fds_[0]);
    close(fds_[1]);
  }

  std::unique_ptr<EventLoop> loop_;
  int fds_[2];
};

TEST_F(EventLoopTest, AWatchMayRemoveItself) {
  int calls = 0;
  WatchId id = 0;
  id = loop_->Watch(fds_[0], EPOLLIN, [&](uint32_t) {
    ++calls;
    loop_->Unwatch(id);
    loop_->After(1'000'000, [&] { loop_->Stop(); });
  });
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, WhatWasRemovedInTheSameTurnIsNotCalled) {
  const int copy = dup(fds_[0]);
  WatchId ids[2];
  int calls = 0;
  const auto remove_other = [&](int mine) {
    return [&, mine](uint32_t) {
      ++calls;
      loop_->Unwatch(ids[1 - mine]);
      loop_->Unwatch(ids[mine]);
      loop_->After(0, [&] { loop_->Stop(); });
    };
  };
  ids[0] = loop_->Watch(fds_[0], EPOLLIN, remove_other(0));
  ids[1] = loop_->Watch(copy, EPOLLIN, remove_other(1));
  loop_->Run();
  EXPECT_EQ(calls, 1);
  close(copy);
}

TEST_F(EventLoopTest, TimersRunInTheOrderOfTheirTimesAndNotAfterCancel) {
  std::string order;
  loop_->After(2'000'000, [&] { order += 'b'; });
  loop_->After(1'000'000, [&] { order += 'a'; });
  const TimerId cancelled = loop_->After(1'500'000, [&] { order += 'x'; });
  loop_->After(3'000'000, [&] { loop_->Stop(); });
  loop_->Cancel(cancelled);
  loop_->Run();
  EXPECT_EQ(order, "ab");
}

}  // namespace
}  // namespace tutti::daemon
