#include "daemon_stage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;

}  // namespace

DaemonStage::DaemonStage(std::string control, std::string failing)
    : control_(std::move(control)), failing_(std::move(failing)) {
  char folder[] = "/tmp/tutti-failing.XXXXXX";
  folder_ = mkdtemp(folder);
  setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
  setenv("CUDA_MPS_LOG_DIRECTORY", folder, 1);
  page_ = MakeFailPage(folder_ + "/page");
  daemon_ = Start({control_, "-f"}, true);
  for (int i = 0; i < 2000 && !std::filesystem::exists(folder_ + "/control"); ++i) std::this_thread::sleep_for(5ms);
}

DaemonStage::~DaemonStage() {
  if (daemon_ > 0 && kill(daemon_, SIGKILL) == 0) waitpid(daemon_, nullptr, 0);
  munmap(page_, kFailPageBytes);
  std::filesystem::remove_all(folder_);
}

void DaemonStage::FailAt(uint64_t call, bool kills) {
  page_->fail_at.store(0);
  page_->calls.store(0);
  page_->kills.store(kills);
  page_->fail_at.store(call);
}

pid_t DaemonStage::Start(std::vector<std::string> words, bool fails) const {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (fails) {
    const auto library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "failing_calls.so";
    setenv("LD_PRELOAD", library.c_str(), 1);
    setenv(kFailIn, failing_.c_str(), 1);
    setenv(kFailFile, (folder_ + "/page").c_str(), 1);
  }
  dup2(open("/dev/null", O_RDWR), 0);
  dup2(open("/dev/null", O_RDWR), 1);
  dup2(open((folder_ + "/stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int DaemonStage::Run(const std::vector<std::string>& words, bool fails) const {
  const pid_t pid = Start(words, fails);
  int status = 0;
  for (const auto end = std::chrono::steady_clock::now() + 60s; waitpid(pid, &status, WNOHANG) == 0;
       std::this_thread::sleep_for(1ms)) {
    if (std::chrono::steady_clock::now() < end) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

pid_t DaemonStage::Server() const { return FirstServer(control_); }

void DaemonStage::EndServers() const {
  // Two at most: clients that the daemon could not identify have a server without rights.
  for (int left = 2; left > 0; --left) {
    const pid_t server = Server();
    if (server == 0) return;
    (void)Run({control_, "shutdown_server", std::to_string(server), "-f"});
    for (int i = 0; i < 2000 && kill(server, 0) == 0; ++i) std::this_thread::sleep_for(5ms);
  }
}

bool DaemonStage::HoldsAtMost(pid_t pid, const Holdings& before) {
  for (int i = 0; i < 1000; ++i) {
    if (HoldingsOf(pid).IsWithin(before)) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

std::string DaemonStage::When(uint64_t call) const {
  return fmt::format("when call {}, {}, {}", call, page_->calls.load() < call ? "none" : page_->failed,
                     page_->kills.load() ? "is the last" : "fails");
}

}  // namespace tutti::fault
