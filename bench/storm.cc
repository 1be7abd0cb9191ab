// storm: kill -9 at random among sixteen busy clients: errors of the others, leaks in the server, and the time until a
// killed client's resources are free.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "../tests/fault/holdings.h"
#include "base/clock.h"
#include "report.h"

namespace {

using namespace std::chrono_literals;
using tutti::fault::Holdings;
using tutti::fault::HoldingsOf;

constexpr size_t kClients = 16;

struct Client {
  pid_t pid;
  int stdin_fd;
};

Client Start(const std::string& program) {
  int in[2];
  if (pipe2(in, O_CLOEXEC) != 0) std::exit(1);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(open("/dev/null", O_WRONLY), 1);
    execl(program.c_str(), program.c_str(), "hog", "1", "100", "2", nullptr);
    _exit(127);
  }
  close(in[0]);
  if (write(in[1], "g", 1) != 1) std::exit(1);
  return {pid, in[1]};
}

// 1 if it has ended with an error.
int End(const Client& client) {
  close(client.stdin_fd);
  int status = 0;
  waitpid(client.pid, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void AwaitWindows(pid_t server, size_t count) {
  for (int i = 0; i < 60'000 && tutti::fault::WindowsOf(server) != count; ++i) std::this_thread::sleep_for(500us);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const int kills = argc > 2 ? std::atoi(argv[2]) : 1000;
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = folder + "/load_client";
  std::mt19937 random(1);

  // As many as later, from start to end: what the server holds after them is the baseline.
  std::vector<Client> clients;
  for (size_t i = 0; i < kClients; ++i) clients.push_back(Start(program));
  int errors = 0;
  for (const Client& client : clients) errors += End(client);
  const pid_t server = tutti::fault::FirstServer(folder + "/../bin/tutti-control");
  if (server == 0 || errors != 0)
    return fmt::print(stderr, "storm: the clients do not work; is CUDA_MPS_PIPE_DIRECTORY that of a running daemon?\n"),
           1;
  AwaitWindows(server, 0);
  std::this_thread::sleep_for(500ms);
  const Holdings before = HoldingsOf(server);

  clients.clear();
  for (size_t i = 0; i < kClients; ++i) clients.push_back(Start(program));
  AwaitWindows(server, kClients);
  std::vector<double> reclaim_ms;
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    Client& victim = clients[random() % kClients];
    const uint64_t begin_ns = tutti::NowNs();
    kill(victim.pid, SIGKILL);
    AwaitWindows(server, kClients - 1);
    reclaim_ms.push_back(static_cast<double>(tutti::NowNs() - begin_ns) / 1e6);
    End(victim);
    victim = Start(program);
    AwaitWindows(server, kClients);
  }
  for (const Client& client : clients) errors += End(client);
  AwaitWindows(server, 0);
  Holdings after;
  for (int i = 0; i < 50 && !(after = HoldingsOf(server)).IsWithin(before); ++i) std::this_thread::sleep_for(100ms);

  const auto leaked = [](size_t now, size_t then) { return now > then ? static_cast<double>(now - then) : 0.0; };
  bench::Report report(
      "storm", fmt::format("{} kills among {} clients; aim: 0 errors, nothing lost, memory back within 100 ms (p99)",
                           kills, kClients));
  const bench::Statistics reclaim = bench::Summarize(reclaim_ms);
  report.Add({"errors seen by others", static_cast<double>(errors), "", 0, "", 0, 0});
  report.Add({"memory files lost", leaked(after.memory_files, before.memory_files), "", 0, "", 0, 0});
  report.Add({"descriptors lost", leaked(after.descriptors, before.descriptors), "", 0, "", 0, 0});
  report.Add({"threads lost", leaked(after.threads, before.threads), "", 0, "", 0, 0});
  report.Add({"kill to the window given back, p50", reclaim.median, "ms", 0, "", 0, reclaim.spread});
  report.Add({"kill to the window given back, p99", reclaim.p99, "ms", 0, "", 0, 0});
  return report.Finish(out);
}
