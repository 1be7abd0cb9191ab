// For a given time, programs come and go at random; some fault, some cannot be compiled, some are killed, terminated or
// stopped for a while; limits and policies change while they run; now and then the server is killed or told to end, or
// the daemon is killed and another one started. Every program checks its results and reports by its exit status.
// Between rounds, with no client left, server and daemon must hold no more than before.
//
//   soak BUILD CASES SECONDS [SEED]     beside the daemon in CUDA_MPS_PIPE_DIRECTORY; logs into CUDA_MPS_LOG_DIRECTORY
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../fault/holdings.h"
#include "programs.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using tutti::fault::Holdings;
using tutti::soak::Program;
using tutti::soak::Programs;

constexpr size_t kMostPrograms = 12;
constexpr auto kRound = 6s;  // until all programs finish and the server is inspected
constexpr int kRoundsOfAServer = 3;  // then it is ended
constexpr size_t kGrowthBytes = 64ull << 20;  // that a heap may have in use more than after its first round

// A process whose resources are compared from round to round.
struct Watched {
  const char* name;
  pid_t pid = 0;
  Holdings first = {};
  bool known = false;
};

std::string Text(const Holdings& h) {
  return fmt::format("{} descriptors, {} threads, {} memory files and {} MiB", h.descriptors, h.threads, h.memory_files,
                     h.resident_bytes >> 20);
}

class Soak {
 public:
  Soak(std::string build, std::string cases, std::string logs, uint64_t seed)
      : build_(std::move(build)),
        logs_(std::move(logs)),
        random_(seed),
        programs_(build_, std::move(cases), logs_, random_) {}

  // Empty if all went well.
  std::string Run(Clock::time_point end) {
    FindDaemon();
    FindServer();
    auto said = Clock::now();
    while (Clock::now() < end && problem_.empty()) {
      for (const auto round = Clock::now() + kRound; Clock::now() < round && Clock::now() < end && problem_.empty();)
        Act();
      if (rounds_ == kRoundsOfAServer && problem_.empty()) EndServer();
      programs_.AwaitAll(problem_);
      Compare(server_);
      Compare(daemon_);
      ++rounds_;
      if (Clock::now() - said < 30s) continue;
      said = Clock::now();
      Say();
    }
    programs_.AwaitAll(problem_);
    Say();
    return problem_;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  void Control(const std::string& command) {
    const std::string line = fmt::format("echo '{}' | '{}/bin/tutti-control' > /dev/null 2>&1", command, build_);
    if (std::system(line.c_str()) != 0) ++refused_;  // the program it named may have ended
  }

  void Act() {
    std::this_thread::sleep_for(std::chrono::milliseconds(Below(100)));
    programs_.Reap(problem_);
    Program* const one = programs_.Any();
    switch (Below(20)) {
      case 0:
      case 1:
        if (one != nullptr) programs_.Kill(*one);
        break;
      case 2:
        if (one != nullptr) Control(fmt::format("set_active_thread_percentage {} {}", one->pid, 10 + Below(91)));
        break;
      case 3:
        if (one != nullptr) Control(fmt::format("set_client_priority {} {}", one->pid, Below(2)));
        break;
      case 4:
        // Some then ask for more, and are refused.
        if (one == nullptr) break;
        one->may_fail = true;
        Control(fmt::format("set_device_pinned_mem_limit {} 0 {}M", one->pid, 1 + Below(64)));
        break;
      case 5:
        if (one == nullptr) break;
        one->may_fail = true;
        Control(fmt::format("terminate_client {} {}", server_.pid, one->pid));
        break;
      case 6: Control(fmt::format("set_policy {}", Below(2) == 0 ? "share" : "time_slice")); break;
      case 7: Control("report"); break;
      case 8:
      case 9:
        if (one != nullptr) programs_.Stop(*one);
        break;
      case 10: programs_.GoOn(); break;
      case 11:
        if (Below(8) == 0) ReplaceDaemon();
        break;
      default:
        if (programs_.running() < kMostPrograms) programs_.Start();
    }
  }

  void FindDaemon() {
    daemon_ = {.name = "daemon"};
    std::ifstream(std::string(std::getenv("CUDA_MPS_PIPE_DIRECTORY")) + "/nvidia-cuda-mps-control.pid") >> daemon_.pid;
  }

  // Who is with the server stays with it, and notices nothing. Who is on the way there may be told that there is no
  // daemon.
  void ReplaceDaemon() {
    const std::vector<pid_t> served = tutti::fault::ClientsOf(build_ + "/bin/tutti-control", server_.pid);
    programs_.LetFailBut(served);
    kill(daemon_.pid, SIGKILL);
    if (std::system(fmt::format("'{}/bin/tutti-control' -d > /dev/null", build_).c_str()) != 0)
      problem_ += "no daemon could be started after one that was killed\n";
    FindDaemon();
    ++daemons_killed_;
    if (tutti::fault::FirstServer(build_ + "/bin/tutti-control") != server_.pid)
      problem_ += "the daemon has not adopted the server of the one before\n";
  }

  // Starts the first client of a server.
  void FindServer() {
    programs_.Start();
    programs_.AwaitAll(problem_);
    server_ = {.name = "server", .pid = tutti::fault::FirstServer(build_ + "/bin/tutti-control")};
    if (server_.pid == 0) problem_ += "there is no server\n";
    rounds_ = 0;
  }

  void EndServer() {
    for (int i = 0; i < 4; ++i) programs_.Start();
    std::this_thread::sleep_for(200ms);
    programs_.LetFail();
    ++servers_ended_;
    if (servers_ended_ % 2 == 1) {
      kill(server_.pid, SIGKILL);
    } else {
      Control(fmt::format("shutdown_server {} -f", server_.pid));
    }
    programs_.AwaitAll(problem_);
    // A server that is told to end is listed until it has.
    for (int i = 0; i < 1000 && kill(server_.pid, 0) == 0; ++i) std::this_thread::sleep_for(10ms);
    FindServer();
  }

  void Compare(Watched& process) {
    if (!problem_.empty()) return;
    Holdings now;
    for (int i = 0; i < 100; ++i) {
      now = tutti::fault::HoldingsOf(process.pid);
      if (now.descriptors == 0 || (process.known && now.IsWithin(process.first))) break;
      if (!process.known && i == 10) break;  // what the last clients had is back by now
      std::this_thread::sleep_for(100ms);
    }
    if (now.descriptors == 0) {
      problem_ += fmt::format("the {} has died by itself\n", process.name);
    } else if (!process.known) {
      process.first = now;
      process.known = true;
    } else if (!now.IsWithin(process.first) || now.resident_bytes > process.first.resident_bytes + kGrowthBytes) {
      const std::string portrait = fmt::format("{}/{}.txt", logs_, process.name);
      tutti::soak::Portray(process.pid, portrait);
      problem_ += fmt::format("the {} holds {}; after its first round it held {}: see {}\n", process.name, Text(now),
                              Text(process.first), portrait);
    }
  }

  void Say() const {
    fmt::print(
        "soak: {} programs, {} killed, {} stopped for a while, {} servers ended, {} daemons killed, {} requests "
        "refused; the server uses {} MiB, the daemon {} MiB\n",
        programs_.started(), programs_.kills(), programs_.stops(), servers_ended_, daemons_killed_, refused_,
        tutti::fault::HoldingsOf(server_.pid).resident_bytes >> 20,
        tutti::fault::HoldingsOf(daemon_.pid).resident_bytes >> 20);
    std::fflush(stdout);
  }

  const std::string build_, logs_;
  std::mt19937_64 random_;
  Programs programs_;
  Watched server_{.name = "server"}, daemon_{.name = "daemon"};
  int rounds_ = 0;  // of this server
  size_t servers_ended_ = 0, daemons_killed_ = 0, refused_ = 0;
  std::string problem_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* const logs = std::getenv("CUDA_MPS_LOG_DIRECTORY");
  if (argc < 4 || logs == nullptr || std::getenv("CUDA_MPS_PIPE_DIRECTORY") == nullptr) {
    fmt::print(
        stderr,
        "usage: {} BUILD CASES SECONDS [SEED], with CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY of a daemon\n",
        argv[0]);
    return 3;
  }
  const uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : std::random_device()();
  fmt::print("soak: seed {}\n", seed);
  const std::string problem =
      Soak(argv[1], argv[2], logs, seed)
          .Run(Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(std::atof(argv[3]) * 1000)));
  if (problem.empty()) return 0;
  fmt::print(stderr, "soak: {}", problem);
  return 1;
}
