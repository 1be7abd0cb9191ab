#include "kubernetes/cgroup.h"

#include <gtest/gtest.h>

namespace tutti::kubernetes {
namespace {

const std::string kId(64, 'a');
constexpr const char* kUid = "2f8b3c1e-7d7e-4a55-9a2e-0123456789ab";

TEST(Cgroup, PathsOfBothDriversAndAllRuntimes) {
  const ContainerRef wanted{kUid, kId};
  EXPECT_EQ(ParseCgroup("0::/kubepods/burstable/pod" + std::string(kUid) + "/" + kId + "\n"), wanted);
  EXPECT_EQ(ParseCgroup("0::/kubepods.slice/kubepods-besteffort.slice/"
                        "kubepods-besteffort-pod2f8b3c1e_7d7e_4a55_9a2e_0123456789ab.slice/"
                        "cri-containerd-" +
                        kId + ".scope\n"),
            wanted);
  EXPECT_EQ(ParseCgroup("12:devices:/kubepods/pod" + std::string(kUid) + "/crio-" + kId + "\n1:name=systemd:/\n"),
            wanted);
}

TEST(Cgroup, StaticPodsHaveUidsWithoutDashes) {
  EXPECT_EQ(ParseCgroup("0::/kubepods/besteffort/pod0123456789abcdef0123456789abcdef/" + kId).pod_uid,
            "0123456789abcdef0123456789abcdef");
}

TEST(Cgroup, AContainerMayHaveNoPod) {
  EXPECT_EQ(ParseCgroup("0::/docker/" + kId + "\n"), (ContainerRef{"", kId}));
  EXPECT_EQ(ParseCgroup("5:cpu:/k8s.io/" + kId + "\n"), (ContainerRef{"", kId}));
}

TEST(Cgroup, AContainerThatMakesCgroupsPassesForNoOther) {
  const std::string other(64, 'b');
  const ContainerRef wanted{kUid, kId};
  const std::string own = "0::/kubepods/pod" + std::string(kUid) + "/" + kId;
  EXPECT_EQ(ParseCgroup(own + "/" + other + "\n"), wanted);
  EXPECT_EQ(ParseCgroup(own + "/pod0123456789abcdef0123456789abcdef/cri-containerd-" + other + ".scope\n"), wanted);
  EXPECT_EQ(ParseCgroup(own + "/init\n"), wanted);
}

TEST(Cgroup, OtherProcessesAreInNone) {
  for (const char* text :
       {"", "0::/\n", "0::/user.slice/user-1000.slice/session-2.scope\n", "garbage", "0::/kubepods/podx/deadbeef\n"}) {
    EXPECT_EQ(ParseCgroup(text), ContainerRef{}) << text;
  }
}

}  // namespace
}  // namespace tutti::kubernetes
