#include "ipc/client_connection.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "os/socket.h"

namespace tutti::ipc {
namespace {

constexpr uid_t kSomebody = 65534;

// Somebody else's process that listens where a daemon would, and hangs up on whoever calls.
class SomebodysListener {
 public:
  SomebodysListener() {
    char folder[] = "/tmp/tutti-listener.XXXXXX";
    folder_ = mkdtemp(folder);
    EXPECT_EQ(chown(folder_.c_str(), kSomebody, kSomebody), 0);
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    child_ = fork();
    if (child_ == 0) {
      if (setgid(kSomebody) != 0 || setuid(kSomebody) != 0) _exit(1);
      const auto listener = os::Listen(folder_ + "/control", 0666);
      if (!listener || write(ready[1], "", 1) != 1) _exit(1);
      for (;;) static_cast<void>(os::Accept(listener->get()));
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~SomebodysListener() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    unlink((folder_ + "/control").c_str());
    rmdir(folder_.c_str());
  }
  std::string Answer(std::span<const uid_t> trusted = {}) const {
    const auto connection = ClientConnection::Connect(folder_, {}, 5'000, trusted);
    return connection ? "connected" : connection.error().text;
  }

 private:
  std::string folder_;
  pid_t child_ = -1;
};

TEST(ClientConnection, AListenerOfAnotherUserIsRefusedUnlessTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  const SomebodysListener listener;
  const std::string refusal = listener.Answer();
  EXPECT_NE(refusal.find("belongs to user 65534"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("TUTTI_TRUST_UID=65534"), std::string::npos) << refusal;
  const uid_t trusted[] = {5, kSomebody};
  EXPECT_EQ(listener.Answer(trusted).find("belongs to user"), std::string::npos) << listener.Answer(trusted);
}

}  // namespace
}  // namespace tutti::ipc
