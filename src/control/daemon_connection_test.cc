#include "control/daemon_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "control/command_message.h"

namespace tutti::control {
namespace {

using testing::HasSubstr;

// Listens where a daemon would, and accepts nobody unless told to.
class Silent : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tutti-connection.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    places_.pipe_directory = places_.log_directory = name;
    auto listener = os::Listen(places_.control_socket(), 0600);
    ASSERT_TRUE(listener) << listener.error().text;
    listener_ = std::move(*listener);
  }
  void TearDown() override { std::filesystem::remove_all(places_.pipe_directory); }

  Places places_;
  os::Fd listener_;
};

TEST_F(Silent, ACommandThatIsNotAnsweredFailsInTime) {
  auto daemon = DaemonConnection::Open(places_, 20);
  ASSERT_TRUE(daemon) << daemon.error().text;
  const auto answer = daemon->Run("report");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, HasSubstr("has not answered \"report\" within 20 ms"));
}

TEST_F(Silent, WhoAnswersWithoutEndIsLate) {
  auto daemon = DaemonConnection::Open(places_, 20);
  ASSERT_TRUE(daemon) << daemon.error().text;
  std::thread floods([this] {
    const auto asker = os::Accept(listener_.get());
    const auto send = [&] {
      while (os::Send(asker->get(), PackCommandReply(1, {.more = true, .text = "and "}))) {
      }
    };
    const std::jthread more[] = {std::jthread(send), std::jthread(send), std::jthread(send)};  // its queue stays full
    send();
  });
  const auto answer = daemon->Run("report");
  floods.join();  // the connection is closed
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, HasSubstr("within 20 ms"));
}

TEST_F(Silent, AShellDoesNotWaitForADaemonThatAnswersNobody) {
  auto daemon = DaemonConnection::Open(places_, 20, DaemonConnection::AfterPatience::kAskWhetherItLives);
  ASSERT_TRUE(daemon) << daemon.error().text;
  const auto answer = daemon->Run("ps");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, HasSubstr("has not answered \"ps\" within 20 ms"));
}

TEST_F(Silent, AShellWaitsForALongCommandOfADaemonThatLives) {
  auto daemon = DaemonConnection::Open(places_, 500, DaemonConnection::AfterPatience::kAskWhetherItLives);
  ASSERT_TRUE(daemon) << daemon.error().text;
  std::thread lives([this] {
    const auto asker = os::Accept(listener_.get());
    const auto second = os::Accept(listener_.get());  // comes when the patience of the first has run out
    (void)os::Receive(second->get());
    (void)os::Send(second->get(), PackCommandReply(1, {.text = "here"}));
    (void)os::Send(asker->get(), PackCommandReply(1, {.text = "at last"}));
    (void)os::Receive(asker->get());
  });
  {
    const auto answer = daemon->Run("quit");
    EXPECT_TRUE(answer) << answer.error().text;
    if (answer) {
      EXPECT_EQ(answer->text, "at last");
    }
    const DaemonConnection closed = std::move(*daemon);
  }
  lives.join();
}

TEST_F(Silent, AQueueThatIsFullEndsTheWaitForAConnection) {
  ASSERT_EQ(listen(listener_.get(), 0), 0);
  std::vector<DaemonConnection> waiting;
  for (int i = 0; i < 10; ++i) {
    auto daemon = DaemonConnection::Open(places_, 20);
    if (!daemon) {
      EXPECT_THAT(daemon.error().text, HasSubstr("no control daemon answers"));
      return;
    }
    waiting.push_back(std::move(*daemon));
  }
  FAIL() << "ten callers in a queue of none";
}

TEST_F(Silent, ALateAnswerIsNotTakenForThatOfTheNextCommand) {
  auto daemon = DaemonConnection::Open(places_, 20);
  ASSERT_TRUE(daemon) << daemon.error().text;
  const auto accepted = os::Accept(listener_.get());
  ASSERT_TRUE(accepted);
  ASSERT_FALSE(daemon->Run("first"));
  EXPECT_FALSE(os::Send(accepted->get(), PackCommandReply(1, {.text = "of the first"})));
  EXPECT_FALSE(daemon->Run("second"));
}

}  // namespace
}  // namespace tutti::control
