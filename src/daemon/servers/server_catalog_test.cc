#include "daemon/servers/server_catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tutti::daemon {
namespace {

class Catalog : public testing::Test {
 protected:
  Catalog() : catalog(defaults, {.pipe_directory = "/p", .log_directory = "/l"}, false) {
    catalog.KeepUserServers([](const NamedServer&) { return Status(); });
  }

  Defaults defaults;
  ServerCatalog catalog;
};

TEST_F(Catalog, AUserWhoJustConnectsGetsAServerOfTheirOwn) {
  EXPECT_EQ(catalog.PlanFor({}, 1000)->name, "uid_1000");
  EXPECT_EQ(catalog.PlanFor({}, 1000)->uid, 1000u);
  EXPECT_EQ(catalog.All().size(), 1u);
}

TEST_F(Catalog, NobodyTakesTheNameOfAnothersServer) {
  EXPECT_FALSE(catalog.Create("uid_1000", 1001, ""));
  EXPECT_TRUE(catalog.Create("uid_1000", 1000, ""));
  EXPECT_FALSE(catalog.Create("uid_1000", 1000, ""));
}

TEST_F(Catalog, AServersSocketIsForItsUserAndRoot) {
  ASSERT_TRUE(catalog.Create("training", 1000, ""));
  EXPECT_TRUE(catalog.PlanFor({.server = "training"}, 1000));
  EXPECT_TRUE(catalog.PlanFor({.server = "training"}, 0));
  EXPECT_FALSE(catalog.PlanFor({.server = "training"}, 1001));
  EXPECT_FALSE(catalog.PlanFor({.server = "training", .name_space = "none"}, 1000));
  EXPECT_FALSE(catalog.PlanFor({.server = "none"}, 1000));
}

TEST_F(Catalog, ANamespacesPercentageOverridesTheProcess) {
  ASSERT_TRUE(catalog.Create("training", 1000, ""));
  defaults.server.active_thread_percentage = 80;
  EXPECT_EQ(EffectivePercentage(catalog.SettingsFor("training", "default", {}), 10), 10);
  EXPECT_EQ(EffectivePercentage(catalog.SettingsFor("training", "default", {}), 100), 80);
  catalog.Find("training")->namespaces["default"].active_thread_percentage = 50;
  EXPECT_EQ(EffectivePercentage(catalog.SettingsFor("training", "default", {}), 10), 50);
}

TEST(VisibleDevices, CountTheDaemonsOwn) {
  EXPECT_EQ(VisibleDevices("", "0,2").value(), "");
  EXPECT_EQ(VisibleDevices("1", "0,2").value(), "2");
  EXPECT_EQ(VisibleDevices("GPU-12,0", "GPU-ab,2").value(), "GPU-12,GPU-ab");
  EXPECT_EQ(VisibleDevices("1", "").value(), "1");
  EXPECT_FALSE(VisibleDevices("2", "0,2"));
  EXPECT_FALSE(VisibleDevices("x", ""));
}

}  // namespace
}  // namespace tutti::daemon
