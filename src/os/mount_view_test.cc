#include "os/mount_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace tutti::os {
namespace {

constexpr const char* kOurs =
    "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "30 21 0:25 / /run rw,nosuid - tmpfs tmpfs rw\n"
    "31 21 8:1 /srv/with\\040space /mnt rw - ext4 /dev/sda1 rw\n";
constexpr const char* kOfContainer =  // what every container has
    "90 80 0:60 / / rw - overlay overlay rw\n"
    "91 90 0:61 / /proc rw - proc proc rw\n"
    "92 90 8:1 /var/lib/containers/7/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n";

bool Shows(const std::string& mount, const std::string& directory) {
  return ShowsDirectory(kOurs, kOfContainer + mount + "\n", directory);
}

TEST(MountView, AContainerWithOneDirectoryDoesNotSeeThoseBesideIt) {
  EXPECT_FALSE(Shows("", "/run/tutti/claims"));
  EXPECT_FALSE(Shows("93 90 0:25 /tutti/claims/mine /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_FALSE(Shows("93 90 0:25 /tutti/claims2 /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_FALSE(Shows("93 90 0:26 /tutti /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"))
      << "of another file system";
}

TEST(MountView, WhoHasWhatIsAboveADirectorySeesIt) {
  EXPECT_TRUE(Shows("93 90 0:25 /tutti/claims /claims ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_TRUE(Shows("93 90 0:25 /tutti /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_TRUE(Shows("93 90 0:25 / /host/run ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_TRUE(Shows("93 90 8:1 /tmp/nvidia-mps /tmp/nvidia-mps ro - ext4 /dev/sda1 rw", "/tmp/nvidia-mps/claims"));
  EXPECT_TRUE(Shows("93 90 8:1 /srv/with\\040space/tutti /x ro - ext4 /dev/sda1 rw", "/mnt/tutti/claims"));
}

// Whether a process is taken to see /etc whose root is a file system of its own, with so many mounts in it, whose lines
// have 800 bytes each; empty where none can be made.
std::optional<bool> SeesMore(int mounts) {
  int ready[2];
  if (pipe(ready) != 0) return std::nullopt;
  const pid_t stranger = fork();
  if (stranger == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string name(200, 'm'), place = name + "/" + name;
    bool made = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                mount("none", "/tmp", "tmpfs", 0, nullptr) == 0 && chroot("/tmp") == 0 && chdir("/") == 0 &&
                mkdir(name.c_str(), 0755) == 0 && mkdir(place.c_str(), 0755) == 0;
    for (int i = 0; made && i < mounts; ++i) made = mount(place.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (made) (void)!write(ready[1], "", 1);
    close(ready[1]);
    for (;;) pause();
  }
  close(ready[1]);
  if (stranger < 0) {
    close(ready[0]);
    return std::nullopt;
  }
  char byte;
  const bool made = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  const bool sees = SeesDirectory(stranger, "/etc");
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
  return made ? std::optional(sees) : std::nullopt;
}

TEST(MountView, WhoHasMoreMountsThanAreLookedThroughIsTakenToSeeAll) {
  const auto few = SeesMore(3);
  if (!few) GTEST_SKIP() << "takes root";
  EXPECT_FALSE(*few);
  EXPECT_EQ(SeesMore(static_cast<int>(kMostMountsBytes / 400)), true);
}

TEST(MountView, AProcessSeesWhatItHas) {
  EXPECT_TRUE(SeesDirectory(getpid(), "/tmp"));
  EXPECT_FALSE(SeesDirectory(getpid(), "/not/there"));
}

}  // namespace
}  // namespace tutti::os
