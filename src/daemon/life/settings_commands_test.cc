#include "daemon/life/settings_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

using testing::ElementsAre;

TEST(SettingsCommandsTest, SayWhatTheDefaultsAre) {
  Defaults defaults;
  defaults.server.active_thread_percentage = 33.25;
  defaults.server.memory_limits.Set("0", 2ull << 30);
  defaults.server.memory_limits.Set("GPU-1234abcd", 512ull << 20);
  defaults.client_priority = 1;
  defaults.policy = "time_slice";
  defaults.trace = true;
  EXPECT_THAT(SettingsCommands(2, defaults, {.container_scope = true}, {}),
              ElementsAre("set_default_active_thread_percentage 33.25", "set_default_device_pinned_mem_limit 0 2G",
                          "set_default_device_pinned_mem_limit GPU-1234abcd 512M", "set_default_client_priority 1",
                          "set_limit_scope container", "set_policy time_slice", "trace on"));
}

TEST(SettingsCommandsTest, SayWhichServersAndNamespacesThereAre) {
  NamedServer server{.plan = {.name = "training", .uid = 1000}, .allowed_devices = "0,1"};
  server.namespaces["default"] = {};
  NamespaceLimits& small = server.namespaces["small"];
  small.active_thread_percentage = 25;
  small.client_priority = 1;
  small.memory_limits.Set("0", 1ull << 30);
  small.memory_limits.Set("1", 3ull << 30);
  small.memory_sharing = control::MemorySharing::kOff;
  EXPECT_THAT(
      SettingsCommands(3, {}, {}, {&server}),
      ElementsAre("server create training --uid=1000 --allowed-devices=0,1", "namespace create small --server=training",
                  "namespace set small --server=training --pinned-memory-limit=0=1G,1=3G --active-thread-percentage=25 "
                  "--client-priority=1 --memory-sharing=off",
                  "set_policy share"));
}

TEST(SettingsCommandsTest, SayWhatIsAccountedFor) {
  Defaults defaults;
  defaults.context_share = false;
  defaults.memory_sharing = control::MemorySharing::kAll;
  MemoryAccounting accounting{.enabled = false, .audit_log = true};
  accounting.cgroups["/kubepods"].hard.Set("0", 1ull << 30);
  accounting.cgroups["/kubepods"].soft.Set("0", 512ull << 20);
  EXPECT_THAT(SettingsCommands(3, defaults, accounting, {}),
              ElementsAre("feature disable memacct", "memacct set audit_log=true",
                          "memacct limit /kubepods --soft-limit=0=512M --hard-limit=0=1G",
                          "feature disable context-share", "set_memory_sharing all", "set_policy share"));
}

}  // namespace
}  // namespace tutti::daemon
