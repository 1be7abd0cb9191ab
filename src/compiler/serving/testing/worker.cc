#include "compiler/serving/testing/worker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "os/filled_memory.h"
#include "os/memory.h"
#include "os/socket.h"

namespace tutti::compiler {
namespace {

// As a server's compiler has none.
void DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(126);
}

}  // namespace

void WorkerTest::SetUp() {
  auto sockets = os::SocketPair();
  ASSERT_TRUE(sockets);
  process_ = fork();
  if (process_ == 0) {
    if (sockets->second.get() == kCompilerSocketFd) {
      fcntl(kCompilerSocketFd, F_SETFD, 0);
    } else {
      dup2(sockets->second.get(), kCompilerSocketFd);
    }
    DropCapabilities();
    execl(program_, program_, "--worker", nullptr);
    _exit(127);
  }
  socket_ = std::move(sockets->first);
}

void WorkerTest::TearDown() {
  socket_.Reset();
  if (process_ <= 0) return;
  int status = 0;
  waitpid(process_, &status, 0);
  if (expect_clean_end_) {
    EXPECT_EQ(status, 0);
  }
}

void WorkerTest::Send(const CompileRequest& request, const std::string& image) {
  auto file = os::CreateMemory("image", image.size());
  ASSERT_EQ(pwrite(file->get(), image.data(), image.size(), 0), static_cast<ssize_t>(image.size()));
  result_ = *os::CreateMemoryToFill("result");
  const int fds[] = {file->get(), result_.get()};
  ASSERT_TRUE(os::Send(socket_.get(), Serialize(request), fds));
}

WorkerTest::Answer WorkerTest::Receive() {
  Answer answer;
  auto message = os::Receive(socket_.get(), 60'000);
  if (!message || message->bytes.empty()) {
    answer.reply.status = -1;
    return answer;
  }
  answer.reply = *ParseCompileReply(message->bytes);
  struct stat info{};
  fstat(result_.get(), &info);
  answer.bytes.resize(static_cast<size_t>(info.st_size));
  EXPECT_EQ(pread(result_.get(), answer.bytes.data(), answer.bytes.size(), 0), info.st_size);
  return answer;
}

WorkerTest::Answer WorkerTest::Ask(const CompileRequest& request, const std::string& image) {
  Send(request, image);
  return Receive();
}

}  // namespace tutti::compiler
