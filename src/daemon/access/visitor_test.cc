#include "daemon/access/visitor.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "daemon/access/memory_accounting.h"
#include "os/pidfd.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kHere = 100, kThere = 200;

std::string OurCgroup() { return CgroupOf(static_cast<uint32_t>(getpid())); }

// In this process, for good: getsockopt(SO_PEERPIDFD) is as before Linux 6.5.
bool ForgetPeerPidfds() {
  constexpr uint32_t kPeerPidfd = 77;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPeerPidfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = std::size(program), .filter = program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(Visitor, AtHomeACgroupIsReadOnlyWhenItIsAskedFor) {
  const auto pair = std::move(*os::SocketPair());
  if (!os::OpenPidfdOfConnector(pair.first.get())) GTEST_SKIP() << "needs SO_PEERPIDFD";
  auto visitor = VisitorAt(pair.first.get(), "");
  ASSERT_TRUE(visitor && visitor->at_home);
  EXPECT_FALSE(visitor->cgroup);
  visitor->LearnCgroup(pair.first.get());
  EXPECT_EQ(visitor->cgroup, OurCgroup());
}

TEST(Visitor, AGuestsCgroupIsReadAtOnceAndNeverAgain) {
  const auto pair = std::move(*os::SocketPair());
  auto guest = VisitorAt(pair.first.get(), "a claim");
  ASSERT_TRUE(guest && !guest->at_home);
  EXPECT_EQ(guest->cgroup, OurCgroup());
  guest->cgroup = "";
  guest->LearnCgroup(pair.first.get());
  EXPECT_EQ(guest->cgroup, "");
  guest->cgroup.reset();
  guest->LearnCgroup(pair.first.get());
  EXPECT_FALSE(guest->cgroup);
}

TEST(Visitor, ACgroupThatCouldNotBeReadIsNotReadAgain) {
  const auto pair = std::move(*os::SocketPair());
  Visitor visitor{.pid = getpid(), .cgroup = "", .at_home = true};
  visitor.LearnCgroup(pair.first.get());
  EXPECT_EQ(visitor.cgroup, "");
}

TEST(Visitor, WhereAProcessIdIsAllThereIsTheCgroupIsReadAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    if (!ForgetPeerPidfds()) _exit(77);
    const auto pair = std::move(*os::SocketPair());
    if (os::OpenPidfdOfConnector(pair.first.get())) _exit(2);
    const auto visitor = VisitorAt(pair.first.get(), "");
    _exit(visitor && visitor->at_home && visitor->cgroup == OurCgroup() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs a filter of system calls";
  EXPECT_EQ(status, 0);
}

TEST(Visitor, ContainersOfOneUserHaveEachTheirShareOfTheLog) {
  const Visitor one{.uid = 0, .cgroup = "/kubepods/a"}, other{.uid = 0, .cgroup = "/kubepods/b"};
  EXPECT_NE(one.party(), other.party());
  EXPECT_NE(one.party(), Ourselves().party());
}

TEST(Visitor, AContainerIsOnePartyWhateverUserNumbersItTakes) {
  const Visitor one{.uid = 1, .cgroup = "/kubepods/a"}, other{.uid = 2, .cgroup = "/kubepods/a"};
  EXPECT_EQ(one.holder().party, other.holder().party);
  EXPECT_NE(one.holder().part, other.holder().part);
}

TEST(Visitor, AContainerIsOnePartyWhateverCgroupsItMakes) {
  const std::string id(64, 'a');
  for (const std::string& container :
       {"/docker/" + id, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope",
        std::string("/machine.slice/machine-a.scope")}) {
    const Visitor one{.uid = 0, .cgroup = container + "/x"}, other{.uid = 0, .cgroup = container + "/y/z"};
    EXPECT_EQ(one.party(), other.party());
    EXPECT_EQ(one.party(), "the container " + container);
  }
}

TEST(Visitor, OnTheirOwnServerUsersTakeNobodysPart) {
  const Visitor user{.uid = 1000, .at_home = true}, container{.uid = 1000, .cgroup = "/kubepods/a"};
  EXPECT_EQ(user.PartyOnServerOf(1000), "");
  EXPECT_EQ(user.PartyOnServerOf(0), "user 1000");
  EXPECT_EQ(container.PartyOnServerOf(1000), container.party());
  EXPECT_EQ(Ourselves().PartyOnServerOf(1000), "");
}

TEST(Visitor, ContainersThatAUserHasMadeAreThatUsers) {
  const Visitor at_home{.uid = 1000, .cgroup = "/user/a", .at_home = true};
  const Visitor below{.uid = 100'007, .cgroup = "/user/b", .made_by = 1000},
      of_root{.uid = 1000, .cgroup = "/kubepods/a", .made_by = 0};
  EXPECT_EQ(below.party(), at_home.party());
  EXPECT_NE(of_root.party(), at_home.party());
}

TEST(Visitor, WhereNoCgroupIsSeenContainersAreToldApartByTheirPidNamespaces) {
  const Visitor one{.uid = 0, .cgroup = "/", .pid_namespace = kHere},
      other{.uid = 0, .cgroup = "/", .pid_namespace = kThere};
  EXPECT_NE(one.party(), other.party());
}

TEST(InnermostPid, IsTheIdInTheProcesssOwnNamespace) {
  const auto self = static_cast<uint32_t>(getpid());
  EXPECT_EQ(InnermostPid(self), self);
  EXPECT_EQ(InnermostPid(0), 0u);
  EXPECT_EQ(InnermostPid(~0u), 0u);
}

}  // namespace
}  // namespace tutti::daemon
