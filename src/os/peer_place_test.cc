#include "os/peer_place.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

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
  const auto listener = Listen(path, 0600);
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
    place = PlaceOfPeer(socket->get(), Peer(socket->get()).value());
  }
  if (!ends) waitpid(child, nullptr, 0);
  unlink(path.c_str());
  rmdir(directory);
  return place;
}

bool MayUnshare(int what) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(what) == 0 ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
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

TEST(PeerPlace, OfAProcessThatHasEndedNothingIsTold) {
  const PeerPlace place = PlaceOfChild([] { return true; }, /*ends=*/true);
  EXPECT_FALSE(place.our_user_namespace);
  EXPECT_FALSE(place.sees_us);
}

}  // namespace
}  // namespace tutti::os
