#include "os/socket.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace tutti::os {
namespace {

// A signal every millisecond that restarts no system call, as profilers send.
class Interrupted {
 public:
  Interrupted() {
    struct sigaction nothing{};
    nothing.sa_handler = [](int) {};
    sigaction(SIGALRM, &nothing, &before_);
    const itimerval every_ms{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every_ms, nullptr);
  }
  ~Interrupted() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_{};
};

// Takes no calls: its queue is full.
class DeafListener {
 public:
  DeafListener() : path_("/tmp/tutti-socket-test." + std::to_string(getpid())), listener_(Socket()) {
    const sockaddr_un address = Address();
    unlink(path_.c_str());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 0), 0);
    for (;;) {
      Fd caller(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) break;
      callers_.push_back(std::move(caller));
    }
  }
  ~DeafListener() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  static int Socket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }
  sockaddr_un Address() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    return address;
  }

  const std::string path_;
  Fd listener_;
  std::vector<Fd> callers_;
};

TEST(Socket, AReceiveEndsInTimeWhateverSignalsCome) {
  const auto sockets = SocketPair().value();
  const Interrupted interrupted;
  const auto received = Receive(sockets.first.get(), 50);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().text, "timed out waiting for a message");
}

TEST(Socket, AConnectEndsInTimeWhateverSignalsCome) {
  const DeafListener deaf;
  const Interrupted interrupted;
  const auto socket = Connect(deaf.path(), 50);
  ASSERT_FALSE(socket);
  EXPECT_NE(socket.error().text.find("has not accepted for 50 ms"), std::string::npos) << socket.error().text;
}

TEST(Socket, AMessageThatComesInTimeIsReceivedWhateverSignalsCome) {
  const auto sockets = SocketPair().value();
  const Interrupted interrupted;
  const uint8_t bytes[] = {1, 2, 3};
  usleep(5000);
  ASSERT_TRUE(Send(sockets.second.get(), bytes));
  const auto received = Receive(sockets.first.get(), 10'000);
  ASSERT_TRUE(received) << received.error().text;
  EXPECT_EQ(received->bytes.size(), 3u);
}

// What has happened to the files of a folder.
uint32_t EventsSoFar(int inotify) {
  alignas(inotify_event) char events[4096];
  uint32_t all = 0;
  const ssize_t bytes = read(inotify, events, sizeof events);
  for (ssize_t at = 0; at < bytes;) {
    const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
    all |= event->mask;
    at += static_cast<ssize_t>(sizeof *event + event->len);
  }
  return all;
}

// Nobody connects to it in an instant in which others may, too.
TEST(Socket, ItsFileHasItsModeFromItsFirstInstant) {
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    char folder[] = "/tmp/tutti-socket.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    const Fd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    ASSERT_GE(inotify_add_watch(inotify.get(), folder, IN_CREATE | IN_ATTRIB | IN_MOVED_TO), 0);
    const std::string path = std::string(folder) + "/socket";
    const mode_t before = umask(mask);
    const auto socket = Listen(path, 0620);
    EXPECT_EQ(umask(before), mask) << "left as it was";
    ASSERT_TRUE(socket) << socket.error().text;
    struct stat info{};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0620u);
    EXPECT_EQ(EventsSoFar(inotify.get()), uint32_t{IN_CREATE}) << "made with its mode, which nothing has changed since";
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace tutti::os
