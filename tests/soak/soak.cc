// For as long as it is told: programs come and go at random, some fault, some are killed, limits and policies change while
// they run, and now and then the server is killed. Every program checks its results and says by its exit status what it has
// found. In between, when nobody is there, the server must hold no more than before.
//
//   soak BUILD CASES SECONDS [SEED]     beside the daemon in CUDA_MPS_PIPE_DIRECTORY
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../fault/holdings.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using tutti::fault::Holdings;

constexpr size_t kMostPrograms = 12;
constexpr auto kRound = 8s;                        // until everybody is let finish and the server looked at
constexpr size_t kGrowthBytes = 64ull << 20;       // that a heap may have in use more than after its first round
constexpr int kRoundsOfAServer = 4;

struct Running {
  pid_t pid;
  std::string what;
  bool killed = false;
  bool server_died = false;  // while it ran: it may have failed
};

class Soak {
 public:
  Soak(std::string build, std::string cases, uint64_t seed) : build_(std::move(build)), cases_(std::move(cases)), random_(seed) {}

  // Empty if all went well.
  std::string Run(Clock::time_point end) {
    Start();
    Quiet();
    server_ = tutti::fault::FirstServer(build_ + "/bin/tutti-control");
    if (server_ == 0) return "there is no server";
    auto said = Clock::now();
    while (Clock::now() < end && problem_.empty()) {
      for (const auto round = Clock::now() + kRound; Clock::now() < round && Clock::now() < end && problem_.empty();) Act();
      if (rounds_ == kRoundsOfAServer) KillServer();
      Quiet();
      Compare();
      if (Clock::now() - said < 60s) continue;
      said = Clock::now();
      Say();
    }
    Quiet();
    Say();
    return problem_;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  pid_t Spawn(const std::vector<std::string>& words) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open("/dev/null", O_WRONLY), 1);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  void Start() {
    static constexpr const char* kPrograms[] = {"vector_add", "matrix_multiply", "reduction", "mandelbrot", "histogram", "n_body"};
    // Run tests that fail as they should: a fault is their result.
    static constexpr const char* kFaults[] = {"wild_address_is_an_illegal_address", "trap_fails_the_launch", "assert_fails_with_its_own_error"};
    const bool faults = Below(4) == 0;
    std::string what = faults ? kFaults[Below(std::size(kFaults))] : kPrograms[Below(std::size(kPrograms))];
    const std::vector<std::string> words =
        faults ? std::vector<std::string>{build_ + "/test/run_test", cases_ + "/" + what + ".ptx"}
               : std::vector<std::string>{build_ + "/examples/" + what + "_driver", "--seconds", fmt::format("{}", 0.2 + 0.1 * static_cast<double>(Below(20)))};
    running_.push_back({.pid = Spawn(words), .what = std::move(what)});
    ++started_;
  }

  void Control(const std::string& command) {
    const std::string line = fmt::format("echo '{}' | '{}/bin/tutti-control' > /dev/null 2>&1", command, build_);
    if (std::system(line.c_str()) != 0) ++refused_;  // the program it named may have ended
  }

  void Act() {
    std::this_thread::sleep_for(std::chrono::milliseconds(Below(100)));
    Reap();
    switch (Below(12)) {
      case 0: case 1:
        if (running_.empty()) break;
        if (Running& victim = running_[Below(running_.size())]; !victim.killed) {
          kill(victim.pid, SIGKILL);
          victim.killed = true;
          ++kills_;
        }
        break;
      case 2:
        if (!running_.empty()) Control(fmt::format("set_active_thread_percentage {} {}", running_[Below(running_.size())].pid, 10 + Below(91)));
        break;
      case 3:
        Control(fmt::format("set_policy {}", Below(2) == 0 ? "share" : "time_slice"));
        break;
      case 4:
        Control("report");
        break;
      default:
        if (running_.size() < kMostPrograms) Start();
    }
  }

  void Reap() {
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = std::find_if(running_.begin(), running_.end(), [pid](const Running& r) { return r.pid == pid; });
      if (found == running_.end()) continue;
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      const bool as_killed = found->killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      const bool as_without_server = found->server_died && WIFEXITED(status);
      if (!well && !as_killed && !as_without_server) problem_ += fmt::format("{} ({}) ended with status {:#x}; ", found->what, pid, status);
      running_.erase(found);
    }
  }

  // Waits until all programs have ended.
  void Quiet() {
    for (const auto limit = Clock::now() + 120s; !running_.empty(); std::this_thread::sleep_for(5ms)) {
      Reap();
      if (Clock::now() < limit) continue;
      for (const Running& program : running_) {
        problem_ += fmt::format("{} ({}) hangs; ", program.what, program.pid);
        kill(program.pid, SIGKILL);
        waitpid(program.pid, nullptr, 0);
      }
      running_.clear();
    }
  }

  void KillServer() {
    for (int i = 0; i < 4; ++i) Start();
    std::this_thread::sleep_for(200ms);
    kill(server_, SIGKILL);
    ++servers_killed_;
    for (Running& program : running_) program.server_died = true;
    Quiet();
    Start();  // the next one's first client
    Quiet();
    server_ = tutti::fault::FirstServer(build_ + "/bin/tutti-control");
    if (server_ == 0) problem_ += "no server has come after one was killed; ";
    rounds_ = 0;
  }

  void Compare() {
    if (!problem_.empty()) return;
    Holdings now;
    for (int i = 0; i < 100; ++i) {
      now = tutti::fault::HoldingsOf(server_);
      if (now.descriptors == 0 || rounds_ == 0 || now.IsWithin(first_)) break;
      std::this_thread::sleep_for(100ms);
    }
    if (now.descriptors == 0) {
      problem_ += "the server has died by itself; ";
    } else if (rounds_++ == 0) {
      std::this_thread::sleep_for(500ms);
      first_ = tutti::fault::HoldingsOf(server_);
    } else if (!now.IsWithin(first_) || now.resident_bytes > first_.resident_bytes + kGrowthBytes) {
      problem_ += fmt::format("the server holds {} descriptors, {} threads, {} memory files and {} MiB; after its first round it held {}, {}, {} and {}; ",
                              now.descriptors, now.threads, now.memory_files, now.resident_bytes >> 20, first_.descriptors, first_.threads,
                              first_.memory_files, first_.resident_bytes >> 20);
    }
  }

  void Say() const {
    fmt::print("soak: {} programs, {} killed, {} servers killed, {} requests refused; the server uses {} MiB\n", started_, kills_, servers_killed_, refused_,
               tutti::fault::HoldingsOf(server_).resident_bytes >> 20);
    std::fflush(stdout);
  }

  const std::string build_, cases_;
  std::mt19937_64 random_;
  std::vector<Running> running_;
  pid_t server_ = 0;
  Holdings first_;
  int rounds_ = 0;
  size_t started_ = 0, kills_ = 0, servers_killed_ = 0, refused_ = 0;
  std::string problem_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} BUILD CASES SECONDS [SEED]\n", argv[0]);
    return 3;
  }
  const uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : std::random_device()();
  fmt::print("soak: seed {}\n", seed);
  const std::string problem = Soak(argv[1], argv[2], seed).Run(Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(std::atof(argv[3]) * 1000)));
  if (problem.empty()) return 0;
  fmt::print("soak: {}\n", problem);
  return 1;
}
