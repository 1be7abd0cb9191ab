#include "os/socket.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace tutti::os {
namespace {

// A signal every millisecond that restarts no system call, as profilers send.
class Interrupted {
 public:
  Interrupted() {
    struct sigaction nothing {};
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
  struct sigaction before_ {};
};

// Takes no calls: its queue is full.
class DeafListener {
 public:
  DeafListener() : path_("/tmp/tutti-socket-test." + std::to_string(getpid())), listener_(Socket()) {
    const sockaddr_un address = Address();
    unlink(path_.c_str());
    bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    listen(listener_.get(), 0);
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
  EXPECT_NE(socket.error().text.find("takes no calls for 50 ms"), std::string::npos) << socket.error().text;
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

}  // namespace
}  // namespace tutti::os
