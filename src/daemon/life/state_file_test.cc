#include "daemon/life/state_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/servers/rendezvous.h"
#include "os/pidfd.h"
#include "os/rendezvous.h"

namespace tutti::daemon {
namespace {

class StateFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    places_.pipe_directory = directory_;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static DaemonState SomeState() {
    DaemonState state{.protocol = 3, .multi_user = true, .commands = {"set_policy share", "trace on"}};
    ServerRecord server{.rendezvous = "1", .pid = 4711, .start_ticks = 99, .version = 7, .plan = PlanOfUser(1000)};
    server.plan.log_file = "/a directory/server.log";
    server.stopping = true;
    server.forced = true;
    server.policy = "time_slice";
    server.settings.active_thread_percentage = 12.5;
    server.settings.memory_limits.Set("0", 1u << 30);
    state.servers = {server, server};
    return state;
  }

  std::string directory_ = "/tmp/tutti-state.XXXXXX";
  control::Places places_;
};

TEST_F(StateFileTest, TheNextDaemonReadsWhatOneThatWasKilledHasKept) {
  StateFile(places_).Keep(SomeState());
  const auto found = StateFile(places_).Read();
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->SameWayAs(SomeState()));
  EXPECT_EQ((*found)->commands, SomeState().commands);
  ASSERT_EQ((*found)->servers.size(), 2u);
  const ServerRecord& server = (*found)->servers[1];
  EXPECT_EQ(server.pid, 4711);
  EXPECT_EQ(server.start_ticks, 99u);
  EXPECT_EQ(server.plan.log_file, "/a directory/server.log");
  EXPECT_TRUE(server.stopping);
  EXPECT_TRUE(server.forced);
  EXPECT_EQ(server.settings.active_thread_percentage, 12.5);
  EXPECT_EQ(server.settings.memory_limits.Get("0"), 1u << 30);
}

TEST_F(StateFileTest, AStateThatCannotBeReplacedIsNotLeftOutdated) {
  StateFile file(places_);
  file.Keep(SomeState());
  const std::string in_the_way = ServersDirectory(places_) + "/state.new";
  std::filesystem::create_directory(in_the_way);
  DaemonState stricter = SomeState();
  stricter.commands.emplace_back("claim require on");
  file.Keep(stricter);
  EXPECT_FALSE(*StateFile(places_).Read());
  std::filesystem::remove(in_the_way);
  file.Keep(stricter);
  const auto found = StateFile(places_).Read();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->commands, stricter.commands);
}

TEST_F(StateFileTest, OneThatEndsByItselfLeavesNothing) {
  StateFile file(places_);
  EXPECT_FALSE(*file.Read());
  file.Keep(SomeState());
  file.Remove();
  EXPECT_FALSE(*file.Read());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// Somebody may have renamed it to ours.
TEST_F(StateFileTest, NothingIsRemovedThatNoDaemonHasMade) {
  StateFile file(places_);
  file.Keep(SomeState());
  const auto place = MakeRendezvous(places_);
  const std::string results = ServersDirectory(places_) + "/results", one = ServersDirectory(places_) + "/2";
  std::filesystem::create_directory(results);
  std::ofstream(one) << "a table";
  file.Remove();
  EXPECT_FALSE(std::filesystem::exists(ServersDirectory(places_) + "/state"));
  EXPECT_FALSE(std::filesystem::exists(ServersDirectory(places_) + "/" + place->name));
  EXPECT_TRUE(std::filesystem::exists(results));
  EXPECT_TRUE(std::filesystem::exists(one));
}

TEST_F(StateFileTest, ANameThatARecordHasIsNotGivenAgain) { EXPECT_EQ(MakeRendezvous(places_, {"1", "2"})->name, "3"); }

// As long as no descriptor is left, an outdated state must go all the same.
TEST_F(StateFileTest, WithoutADescriptorNoOutdatedStateStays) {
  StateFile file(places_);
  ASSERT_TRUE(file.Keep(SomeState()));
  DaemonState stricter = SomeState();
  stricter.commands.emplace_back("claim require on");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const bool kept = file.Keep(stricter);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(kept);
  EXPECT_FALSE(*StateFile(places_).Read());
}

TEST_F(StateFileTest, WhatIsCutShortIsAnErrorAndNoState) {
  const std::vector<uint8_t> whole = Pack(SomeState());
  for (size_t kept = 0; kept < whole.size(); ++kept)
    EXPECT_FALSE(Unpack({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(kept)})) << kept;
}

TEST_F(StateFileTest, OthersCannotReachIt) {
  mkdir(ServersDirectory(places_).c_str(), 0777);
  chmod(ServersDirectory(places_).c_str(), 0777);
  StateFile(places_).Keep(SomeState());
  struct stat info{};
  ASSERT_EQ(stat(ServersDirectory(places_).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(stat((ServersDirectory(places_) + "/state").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(StateFileTest, WhatIsNoFileOfTheDaemonsUserIsNotRead) {
  StateFile(places_).Keep(SomeState());
  const std::string state = ServersDirectory(places_) + "/state", aside = directory_ + "/aside";
  std::filesystem::rename(state, aside);
  std::filesystem::create_symlink(aside, state);
  EXPECT_FALSE(StateFile(places_).Read()) << "a link";
  std::filesystem::remove(state);
  ASSERT_EQ(mkfifo(state.c_str(), 0600), 0);
  EXPECT_FALSE(StateFile(places_).Read()) << "a pipe, which would block";
  std::filesystem::remove(state);
  std::filesystem::rename(aside, state);
  EXPECT_TRUE(StateFile(places_).Read());
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(state.c_str(), 4711, 4711), 0);
  EXPECT_FALSE(StateFile(places_).Read()) << "another user's";
}

TEST_F(StateFileTest, AFileThatWasRemovedIsWrittenAgain) {
  StateFile file(places_);
  file.Keep(SomeState());
  std::filesystem::remove_all(ServersDirectory(places_));
  file.ForgetIfGone();
  file.Keep(SomeState());
  EXPECT_TRUE(*StateFile(places_).Read());
}

// The daemon believes the kernel, and what it has written down itself.
TEST_F(StateFileTest, OnlyTheProcessThatWasStartedIsMetInItsPlace) {
  auto place = MakeRendezvous(places_);
  ASSERT_TRUE(place) << place.error().text;
  ServerRecord record{.rendezvous = place->name,
                      .pid = getpid(),
                      .start_ticks = os::StartTicks(getpid()),
                      .plan = PlanOfUser(geteuid())};
  EXPECT_FALSE(ConnectToServer(places_, record)) << "nobody listens";
  ASSERT_TRUE(os::ListenOn(place->socket.get()));
  const auto met = ConnectToServer(places_, record);
  ASSERT_TRUE(met) << met.error().text;
  EXPECT_EQ(met->pid, getpid());
  const auto refuses = [&](const ServerRecord& other) { return !ConnectToServer(places_, other); };
  ServerRecord other = record;
  other.pid = 1;
  EXPECT_TRUE(refuses(other)) << "of another process";
  other = record;
  other.start_ticks += 1;
  EXPECT_TRUE(refuses(other)) << "of one that had the same number before";
  other = record;
  other.plan = PlanOfUser(geteuid() + 1);
  EXPECT_TRUE(refuses(other)) << "of another user's server";
}

}  // namespace
}  // namespace tutti::daemon
