// Each claim is tried in a child that has entered the sandbox; the child's exit status is the answer.
#include "compiler/serving/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "compiler/link/host_target.h"
#include "compiler/link/object_emitter.h"
#include "compiler/link/optimizer.h"
#include "compiler/link/shared_object.h"
#include "os/confinement/sanitized.h"
#include "os/socket.h"

namespace tutti::compiler {
namespace {

// The wait status of a child that ran `body` inside the sandbox and exited with 0 if it returned true.
template <typename Body>
int RunInside(Body body, SandboxLimits limits = {}) {
  if (os::kSanitized) return 0;
  auto sockets = os::SocketPair();
  const pid_t child = fork();
  if (child == 0) {
    if (!EnterSandbox(sockets->first.get(), -1, limits)) _exit(77);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
bool Held(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
bool KilledBy(int status, int signal) { return os::kSanitized || (WIFSIGNALED(status) && WTERMSIG(status) == signal); }

TEST(Sandbox, KnowsNoFiles) {
  EXPECT_TRUE(Held(RunInside([] { return open("/etc/passwd", O_RDONLY) == -1 && errno == ENOENT; })));
  EXPECT_TRUE(Held(RunInside([] { return open("/tmp/x", O_RDWR | O_CREAT, 0600) == -1; })));
  EXPECT_TRUE(Held(RunInside([] {
    struct stat info;
    return stat("/etc/passwd", &info) == -1 && errno == ENOENT;
  })));
}

TEST(Sandbox, OpensItsOwnMemoryFilesByPath) {
  EXPECT_TRUE(Held(RunInside([] {
    const int file = memfd_create("test", 0);
    if (write(file, "text", 4) != 4) return false;
    const int again = open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY);
    char text[4];
    return again >= 0 && pread(again, text, 4, 0) == 4 && text[0] == 't';
  })));
}

TEST(Sandbox, KeepsNoDescriptorButTheSocket) {
  const int secret = open("/dev/zero", O_RDONLY);
  EXPECT_TRUE(Held(RunInside([secret] { return fcntl(secret, F_GETFD) == -1 && errno == EBADF; })));
  close(secret);
}

TEST(Sandbox, HasNoNetworkAndNoOtherProcesses) {
  EXPECT_TRUE(Held(RunInside([] { return socket(AF_INET, SOCK_STREAM, 0) == -1; })));
  EXPECT_TRUE(Held(RunInside([] { return fork() == -1; })));
  EXPECT_TRUE(Held(RunInside([] { return kill(1, SIGTERM) == -1; })));
}

// The kernel sends any signal to whoever is named the owner of a descriptor, in our name.
TEST(Sandbox, EndsWhoNamesAnOwnerOfADescriptor) {
  const pid_t victim = getpid();
  f_owner_ex owner{.type = F_OWNER_PID, .pid = victim};
  EXPECT_TRUE(KilledBy(RunInside([=] { return fcntl(0, F_SETOWN, victim) == 0; }), SIGSYS));
  EXPECT_TRUE(KilledBy(RunInside([=] { return fcntl(0, F_SETOWN_EX, &owner) == 0; }), SIGSYS));
  EXPECT_TRUE(KilledBy(RunInside([] { return fcntl(0, F_SETSIG, SIGKILL) == 0; }), SIGSYS));
}

TEST(Sandbox, EndsWhoTriesToRunAProgramOrNewCode) {
  EXPECT_TRUE(KilledBy(RunInside([] { return execl("/bin/true", "true", nullptr) == -1; }), SIGSYS));
  EXPECT_TRUE(KilledBy(RunInside([] {
                         return mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                     0) != nullptr;
                       }),
                       SIGSYS));
}

TEST(Sandbox, LimitsMemoryAndTime) {
  EXPECT_TRUE(Held(RunInside([] { return std::malloc(1ull << 30) == nullptr; }, {.address_space_bytes = 1ull << 30})));
  EXPECT_TRUE(KilledBy(RunInside([] {
                         LimitRequestTime(0);
                         for (volatile bool forever = true; forever;) {
                         }
                         return false;
                       }),
                       SIGXCPU));
}

TEST(Sandbox, CompilesAndLinksInside) {
  EXPECT_TRUE(Held(RunInside([] {
    llvm::LLVMContext context;
    llvm::SMDiagnostic diagnostic;
    const auto module =
        llvm::parseAssemblyString("define i32 @f(i32 %x) {\n %y = add i32 %x, 1\n ret i32 %y\n}", diagnostic, context);
    const HostTarget target = HostTarget::Detect();
    auto machine = CreateTargetMachine(target, 2);
    if (!module || !machine) return false;
    ApplyTarget(*module, target, **machine);
    OptimizeWide(*module, **machine, 2);
    const auto object = EmitObject(*module, **machine);
    return object && LinkSharedObject(*object, {}, "inside").has_value();
  })));
}

}  // namespace
}  // namespace tutti::compiler
