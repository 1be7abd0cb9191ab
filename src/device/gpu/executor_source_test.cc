// Where Spaces get their executors from, when these end at the wrong moment (device/gpu/testing/hostile_executor.cc).
#include "device/gpu/executor_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "wire/limits.h"

namespace tutti::device::gpu {
namespace {

TEST(ExecutorSource, AnExecutorThatEndsBeforeItHasAClientIsFollowedByAnother) {
  for (const Isolation isolation : {Isolation::kProcess, Isolation::kShared}) {
    for (const char* how : {"ends_starting:", "ends_taken:"}) {
      SCOPED_TRACE(how);
      std::string file = "/tmp/executor_source_test.XXXXXX";
      close(mkstemp(file.data()));
      unlink(file.c_str());
      const GpuSettings settings{.executor = TUTTI_HOSTILE_EXECUTOR, .vendor = how + file, .isolation = isolation};
      ExecutorSource source(settings, os::Spawner::Start({settings.ProgramOf()}).value());
      ASSERT_TRUE(source.Start(1 << 20));
      const auto first = source.NewWindow("a");
      auto window = source.NewWindow("b");
      ASSERT_TRUE(first && window);
      close(open(file.c_str(), O_CREAT | O_CLOEXEC, 0600));  // for the next one that starts
      const auto taken = source.Take(&*window, false, [](const auto&) { return true; }, {});
      EXPECT_TRUE(taken) << taken.error().text;
      EXPECT_NE(unlink(file.c_str()), 0) << "none has ended";
    }
  }
}

// Whoever has it killed as soon as it is told of it, since it has ended meanwhile.
TEST(ExecutorSource, NoOtherFollowsAnExecutorThatIsNotWantedAnyMore) {
  for (const Isolation isolation : {Isolation::kProcess, Isolation::kShared}) {
    const GpuSettings settings{.executor = TUTTI_HOSTILE_EXECUTOR, .vendor = "above:0", .isolation = isolation};
    ExecutorSource source(settings, os::Spawner::Start({settings.ProgramOf()}).value());
    ASSERT_TRUE(source.Start(1 << 20));
    auto first = source.NewWindow("a"), second = source.NewWindow("b");
    ASSERT_TRUE(first && second);
    for (auto* const window : {&*first, &*second}) {
      int told = 0;
      const auto kill = [&told](const std::shared_ptr<ExecutorLink>& link) {
        ++told;
        link->Kill();
        return false;
      };
      EXPECT_FALSE(source.Take(window, false, kill, {}));
      EXPECT_EQ(told, 1);
    }
  }
}

TEST(ExecutorSource, WindowsAreWhereADriverHasRoomForThem) {
  constexpr uint64_t kQuarter = (wire::kWindowArenaEnd - wire::kWindowArenaBase) / 4;
  for (const auto& [lowest, expected] :
       {std::pair{uint64_t{0}, wire::kWindowArenaBase},
        std::pair{wire::kWindowArenaBase + 1, wire::kWindowArenaBase + kQuarter},
        std::pair{wire::kWindowArenaBase + 3 * kQuarter, wire::kWindowArenaBase + 3 * kQuarter}}) {
    const GpuSettings settings{.executor = TUTTI_HOSTILE_EXECUTOR, .vendor = fmt::format("above:{:x}", lowest)};
    ExecutorSource source(settings, os::Spawner::Start({settings.ProgramOf()}).value());
    ASSERT_TRUE(source.Start(1 << 20));
    const auto window = source.NewWindow("a");
    ASSERT_TRUE(window);
    EXPECT_EQ(window->base, expected);
  }
}

}  // namespace
}  // namespace tutti::device::gpu
