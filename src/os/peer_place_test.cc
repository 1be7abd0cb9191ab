#include "os/peer_place.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "os/pidfd.h"

namespace tutti::os {
namespace {

uint64_t OwnPidNamespace() {
  struct stat info{};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// What is told of a process that did `before` and then connected.
PeerPlace PlaceOfChild(const std::function<bool()>& before, bool ends = false) {
  char directory[] = "/tmp/tutti-peer.XXXXXX";
  EXPECT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/socket";
  chmod(directory, 0711);
  const auto listener = Listen(path, 0666);
  EXPECT_TRUE(listener);
  const pid_t child = fork();
  if (child == 0) {
    if (!before()) _exit(77);
    const pid_t grandchild = fork();  // a PID namespace holds for children
    if (grandchild == 0) {
      const auto connected = Connect(path);
      if (connected && !ends) (void)Receive(connected->get());
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    _exit(0);
  }
  PeerPlace place;
  {
    const auto socket = Accept(listener->get());
    EXPECT_TRUE(socket);
    if (ends) waitpid(child, nullptr, 0);
    if (const auto process = OpenPeerPidfd(socket->get()))
      place = PlaceOfPeer(process->get(), Peer(socket->get()).value());
  }
  if (!ends) waitpid(child, nullptr, 0);
  unlink(path.c_str());
  rmdir(directory);
  return place;
}

// In a child.
bool Does(const std::function<bool()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(what() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

bool MayUnshare(int what) {
  return Does([what] { return unshare(what) == 0; });
}

TEST(PeerPlace, AProcessBesideUsIsAtHome) {
  const PeerPlace place = PlaceOfChild([] { return true; });
  EXPECT_TRUE(place.our_user_namespace);
  EXPECT_TRUE(place.sees_us);
  EXPECT_EQ(place.pid_namespace, OwnPidNamespace());
}

TEST(PeerPlace, RootOfAPidNamespaceBelowDoesNotSeeUs) {
  if (!MayUnshare(CLONE_NEWPID)) GTEST_SKIP() << "needs PID namespaces";
  const PeerPlace place = PlaceOfChild([] { return unshare(CLONE_NEWPID) == 0; });
  EXPECT_TRUE(place.our_user_namespace);
  EXPECT_FALSE(place.sees_us);
  EXPECT_NE(place.pid_namespace, 0u);
  EXPECT_NE(place.pid_namespace, OwnPidNamespace());
}

TEST(PeerPlace, RootOfAUserNamespaceIsAStranger) {
  if (!MayUnshare(CLONE_NEWUSER)) GTEST_SKIP() << "needs user namespaces";
  EXPECT_FALSE(PlaceOfChild([] { return unshare(CLONE_NEWUSER) == 0; }).our_user_namespace);
}

TEST(PeerPlace, WhoHasMadeAUserNamespaceIsKnownHoweverDeepThePeerIs) {
  if (!MayUnshare(CLONE_NEWUSER)) GTEST_SKIP() << "needs user namespaces";
  if (getuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  static constexpr uid_t kUser = 54321;
  const auto become = [] {
    return setresgid(kUser, kUser, kUser) == 0 && setresuid(kUser, kUser, kUser) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
  };
  const auto write = [](const char* path, const std::string& text) {
    return (std::ofstream(path) << text << std::flush).good();
  };
  const auto be_root_there = [&write] {  // who is nobody there may not make another one
    const std::string map = "0 " + std::to_string(kUser) + " 1";
    return write("/proc/self/setgroups", "deny") && write("/proc/self/gid_map", map) &&
           write("/proc/self/uid_map", map);
  };
  if (!Does(
          [&] { return become() && unshare(CLONE_NEWUSER) == 0 && be_root_there() && unshare(CLONE_NEWUSER) == 0; })) {
    GTEST_SKIP() << "needs user namespaces for everybody";
  }
  EXPECT_EQ(PlaceOfChild([] { return true; }).made_by, std::nullopt);
  EXPECT_EQ(PlaceOfChild([] { return unshare(CLONE_NEWUSER) == 0; }).made_by, 0u);
  EXPECT_EQ(PlaceOfChild([&] { return become() && unshare(CLONE_NEWUSER) == 0; }).made_by, kUser);
  EXPECT_EQ(PlaceOfChild([&] {
              return become() && unshare(CLONE_NEWUSER) == 0 && be_root_there() && unshare(CLONE_NEWUSER) == 0;
            }).made_by,
            kUser);
}

TEST(PeerPlace, OfAProcessThatHasEndedNothingIsTold) {
  const PeerPlace place = PlaceOfChild([] { return true; }, /*ends=*/true);
  EXPECT_FALSE(place.our_user_namespace);
  EXPECT_FALSE(place.sees_us);
}

}  // namespace
}  // namespace tutti::os
