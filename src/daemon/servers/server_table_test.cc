#include "daemon/servers/server_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/access/visitor.h"
#include "daemon/servers/rendezvous.h"
#include "os/pidfd.h"
#include "os/rendezvous.h"
#include "wire/limits.h"

namespace tutti::daemon {
namespace {

// Its servers are started and end at once: no server program stands beside this one.
class ServerTableTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TUTTI_SERVERS_PER_CONTAINER", "3", 1);
    servers_ = std::make_unique<ServerTable>(*loop_, control::Places{}, defaults_, log_, true);
    unsetenv("TUTTI_SERVERS_PER_CONTAINER");
  }

  Status Start(const std::string& name, const std::string& party) {
    return servers_->Ensure({.name = name, .uid = geteuid(), .log_file = "/dev/null"}, party);
  }
  size_t LinesAboutStarts() const {
    return static_cast<size_t>(
        std::ranges::count_if(lines_, [](const std::string& line) { return line.starts_with("Starting new server"); }));
  }

  std::vector<std::string> lines_;
  LogBudget log_{[this](log::Level, std::string_view line) { lines_.emplace_back(line); }};
  std::unique_ptr<EventLoop> loop_ = std::move(EventLoop::Create()).value();
  Defaults defaults_;
  std::unique_ptr<ServerTable> servers_;
};

TEST_F(ServerTableTest, StartingServersForEverFillsNoDisk) {
  ASSERT_TRUE(Start("a", "user 7"));
  EXPECT_EQ(LinesAboutStarts(), 1u);
  const std::string all(LogBudget::kBurstBytes - 1000, 'x');
  log_.Info("user 8", "{}", all);
  log_.Info("user 8", "{}", std::string(800, 'x'));
  lines_.clear();
  ASSERT_TRUE(Start("b", "user 8"));
  ASSERT_TRUE(Start("c", "user 8"));
  ASSERT_TRUE(Start("d", "user 8"));
  EXPECT_LT(LinesAboutStarts(), 3u);
}

TEST_F(ServerTableTest, APartyHasSoManyServersAndAdministratorsAnyNumber) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Start(name, "the container /a"));
  EXPECT_TRUE(Start("a", "the container /a")) << "it runs already";
  EXPECT_FALSE(Start("d", "the container /a"));
  EXPECT_TRUE(Start("e", "the container /b"));
  for (const char* name : {"f", "g", "h", "i"}) EXPECT_TRUE(Start(name, kAdministrators));
}

TEST_F(ServerTableTest, AServerOfAnotherVersionIsFollowedToItsEndAndOneOfOursIsAdopted) {
  std::string directory = "/tmp/tutti-table.XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const control::Places places{.pipe_directory = directory};
  const auto place = MakeRendezvous(places);
  ASSERT_TRUE(place && os::ListenOn(place->socket.get()));
  ServerRecord record{.rendezvous = place->name,
                      .pid = getpid(),
                      .start_ticks = os::StartTicks(getpid()),
                      .version = wire::kProtocolVersion,
                      .plan = PlanOfUser(geteuid())};
  ServerTable adopts(*loop_, places, defaults_, log_, true);
  adopts.Adopt(record);
  EXPECT_NE(adopts.Current(record.plan.name), nullptr);
  ServerTable refuses(*loop_, places, defaults_, log_, true);
  record.version += 1;
  refuses.Adopt(record);
  ASSERT_EQ(refuses.All().size(), 1u);
  EXPECT_TRUE(refuses.All()[0]->stopping());
  EXPECT_EQ(refuses.Current(record.plan.name), nullptr);
  EXPECT_EQ(refuses.Records().at(0).version, record.version);
  ServerTable has_ended(*loop_, places, defaults_, log_, true);
  record.start_ticks += 1;
  has_ended.Adopt(record);
  EXPECT_TRUE(has_ended.All().empty());
  RemoveServersDirectory(places);
  rmdir(directory.c_str());
}

}  // namespace
}  // namespace tutti::daemon
