// Every system call that the control daemon makes from a client's connection to its end fails in turn: those that
// accept it, identify it, start a server for it, hand it over, and those that write the log. Whatever fails, that
// client is served or gets an error and does not hang; the daemon survives, leaks nothing, and serves the next one.
//
//   failing_daemon_test CONTROL CLIENT      a program that only opens and closes its devices
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "daemon_stage.h"

namespace tutti::fault {
namespace {

std::string control, client;

TEST(FailingDaemon, GoesOnWhateverCallFailsWhileAClientComes) {
  DaemonStage stage(control, std::filesystem::path(control).filename());
  ASSERT_EQ(stage.Run({client}), 0) << "without any failure";
  stage.EndServers();
  const Holdings before = HoldingsOf(stage.daemon());
  ASSERT_GT(before.descriptors, 0u);
  int wrong = 0;
  uint64_t call = 0;
  do {
    stage.FailAt(++call);
    const int status = stage.Run({client});
    const uint64_t made = stage.page().calls.load();
    const std::string when = stage.When(call);
    stage.FailAt(0);
    const bool told = status >= 0 && status < 127;
    EXPECT_TRUE(told) << "the client " << (status < 0 ? "hangs " : fmt::format("ends with {} ", status)) << when;
    ASSERT_EQ(waitpid(stage.daemon(), nullptr, WNOHANG), 0) << "the daemon has ended " << when;
    const int next = stage.Run({client});
    EXPECT_EQ(next, 0) << "the next client is not served " << when;
    stage.EndServers();
    const bool within = DaemonStage::HoldsAtMost(stage.daemon(), before);
    EXPECT_TRUE(within) << "the daemon holds " << HoldingsOf(stage.daemon()).descriptors << " descriptors and not "
                        << before.descriptors << ' ' << when;
    wrong += !told || next != 0 || !within;
    if (made < call) break;
  } while (wrong < 4);
  EXPECT_GT(call, 20u) << "the library fails nothing";
  fmt::print("{} calls\n", call - 1);
  EXPECT_LE(HoldingsOf(stage.daemon()).resident_bytes, before.resident_bytes + (1 << 20)) << "the daemon has grown";
}

// With a server that is already running: it survives, and so do its other clients.
TEST(FailingDaemon, LeavesItsServerAloneWhateverCallFails) {
  DaemonStage stage(control, std::filesystem::path(control).filename());
  ASSERT_EQ(stage.Run({client}), 0) << "without any failure";
  const pid_t server = stage.Server();
  ASSERT_GT(server, 0);
  uint64_t call = 0, made = 0;
  do {
    stage.FailAt(++call);
    const int told = stage.Run({client}), answered = stage.Run({control, "get_client_list", std::to_string(server)});
    made = stage.page().calls.load();
    const std::string when = stage.When(call);
    stage.FailAt(0);
    EXPECT_GE(told, 0) << "the client hangs " << when;
    EXPECT_GE(answered, 0) << "the shell hangs " << when;
    EXPECT_EQ(stage.Run({client}), 0) << "the next client is not served " << when;
    ASSERT_EQ(stage.Server(), server) << "the server is another one " << when;
  } while (made >= call);
  fmt::print("{} calls\n", call - 1);
  EXPECT_GT(call, 10u) << "the library fails nothing";
}

}  // namespace
}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return fmt::print(stderr, "usage: {} CONTROL CLIENT\n", argv[0]), 3;
  tutti::fault::control = argv[1];
  tutti::fault::client = argv[2];
  return RUN_ALL_TESTS();
}
