#include "os/mount_view.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

bool Shows(const std::string& mount, const std::string& directory) { return ShowsDirectory(kOurs, kOfContainer + mount + "\n", directory); }

TEST(MountView, AContainerWithOneDirectoryDoesNotSeeThoseBesideIt) {
  EXPECT_FALSE(Shows("", "/run/tutti/claims"));
  EXPECT_FALSE(Shows("93 90 0:25 /tutti/claims/mine /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_FALSE(Shows("93 90 0:25 /tutti/claims2 /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_FALSE(Shows("93 90 0:26 /tutti /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims")) << "of another file system";
}

TEST(MountView, WhoHasWhatIsAboveADirectorySeesIt) {
  EXPECT_TRUE(Shows("93 90 0:25 /tutti/claims /claims ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_TRUE(Shows("93 90 0:25 /tutti /tmp/nvidia-mps ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_TRUE(Shows("93 90 0:25 / /host/run ro - tmpfs tmpfs rw", "/run/tutti/claims"));
  EXPECT_TRUE(Shows("93 90 8:1 /tmp/nvidia-mps /tmp/nvidia-mps ro - ext4 /dev/sda1 rw", "/tmp/nvidia-mps/claims"));
  EXPECT_TRUE(Shows("93 90 8:1 /srv/with\\040space/tutti /x ro - ext4 /dev/sda1 rw", "/mnt/tutti/claims"));
}

TEST(MountView, AProcessSeesWhatItHas) {
  EXPECT_TRUE(SeesDirectory(getpid(), "/tmp"));
  EXPECT_FALSE(SeesDirectory(getpid(), "/not/there"));
}

}  // namespace
}  // namespace tutti::os
