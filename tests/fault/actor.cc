#include "actor.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;

constexpr auto kLimit = 120s;

}  // namespace

void GiveUp(ActorPage& page, const std::string& what) {
  fmt::format_to_n(page.failure, sizeof page.failure - 1, "{}", what);
  page.failed.store(true);
  _exit(1);
}

void Check(ActorPage& page, const char* call, CUresult result) {
  if (result != CUDA_SUCCESS) GiveUp(page, fmt::format("{}: error {}", call, static_cast<int>(result)));
}

void ComputeOnce(ActorPage& page) {
  CUdeviceptr words;
  uint32_t found[4] = {};
  Check(page, "cuMemAlloc", cuMemAlloc_v2(&words, sizeof found));
  Check(page, "cuMemsetD32", cuMemsetD32_v2(words, 7, 4));
  Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(found, words, sizeof found));
  if (found[0] != 7 || found[3] != 7) GiveUp(page, "wrong results");
}

void WaitToLeave(ActorPage& page) {
  page.ready.store(true);
  while (!page.leave.load()) std::this_thread::sleep_for(1ms);
}

Actor::Actor(const std::function<void(ActorPage&)>& act) {
  page_ = new (mmap(nullptr, sizeof(ActorPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) ActorPage;
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CUcontext context;
  Check(*page_, "cuInit", cuInit(0));
  Check(*page_, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, 0));
  Check(*page_, "cuCtxSetCurrent", cuCtxSetCurrent(context));
  act(*page_);
  _exit(0);
}

Actor::~Actor() {
  Kill();
  munmap(page_, sizeof(ActorPage));
}

std::string Actor::AwaitReady() {
  for (const auto end = std::chrono::steady_clock::now() + kLimit; !page_->ready.load();
       std::this_thread::sleep_for(1ms)) {
    if (page_->failed.load()) return page_->failure;
    if (waitpid(pid_, &status_, WNOHANG) == pid_) {
      ended_ = true;
      return page_->failed.load() ? page_->failure : fmt::format("it has ended with status {:#x}", status_);
    }
    if (std::chrono::steady_clock::now() > end) return "it hangs";
  }
  return "";
}

std::string Actor::AwaitEnd() {
  for (const auto end = std::chrono::steady_clock::now() + kLimit; !ended_; std::this_thread::sleep_for(1ms)) {
    ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    if (!ended_ && std::chrono::steady_clock::now() > end) return "it hangs";
  }
  if (page_->failed.load()) return page_->failure;
  return WIFEXITED(status_) && WEXITSTATUS(status_) == 0 ? "" : fmt::format("it has ended with status {:#x}", status_);
}

std::string Actor::Leave() {
  page_->leave.store(true);
  return AwaitEnd();
}

void Actor::Kill() {
  if (ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
  ended_ = true;
}

}  // namespace tutti::fault
