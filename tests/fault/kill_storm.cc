// Of eight clients that compute without a pause one is killed (SIGKILL) at a random moment, 200 times, and replaced. No
// other client may see an error or a wrong result, and when all are gone the server holds no more descriptors, threads
// or mappings than before.
//
//   kill_storm CONTROL CLIENT [KILLS]    with CUDA_MPS_PIPE_DIRECTORY of a running daemon
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdings.h"

namespace {

using namespace std::chrono_literals;
using tutti::fault::Holdings;
using tutti::fault::HoldingsOf;

pid_t StartClient(const std::string& program) {
  const pid_t child = fork();
  if (child == 0) {
    const int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, 1);
    execl(program.c_str(), program.c_str(), "--seconds", "3", "--blocks", "1", nullptr);
    _exit(127);
  }
  return child;
}

// 0 if the child ended by itself with status 0, or was killed by us.
int Failed(int status) {
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0) && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} CONTROL CLIENT [KILLS]\n", argv[0]);
    return 3;
  }
  const std::string control = argv[1], client = argv[2];
  const int kills = argc > 3 ? std::atoi(argv[3]) : 200;
  constexpr size_t kClients = 8;
  std::mt19937 random(20251);

  // Warm-up with as many clients as later: afterwards the server is up, the code compiled, the thread pools have their
  // size, and what the server now holds is the baseline.
  int status;
  std::vector<pid_t> first;
  for (size_t i = 0; i < kClients; ++i) first.push_back(StartClient(client));
  for (const pid_t child : first) {
    waitpid(child, &status, 0);
    if (Failed(status)) return fmt::print("one of the first clients failed\n"), 1;
  }
  const pid_t server = tutti::fault::FirstServer(control);
  if (server <= 0) return fmt::print("no server\n"), 1;
  std::this_thread::sleep_for(500ms);
  const Holdings before = HoldingsOf(server);

  std::vector<pid_t> clients;
  for (size_t i = 0; i < kClients; ++i) clients.push_back(StartClient(client));
  int errors = 0;
  for (int kill_count = 0; kill_count < kills; ++kill_count) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    pid_t& victim = clients[random() % kClients];
    kill(victim, SIGKILL);
    waitpid(victim, &status, 0);
    errors += Failed(status);
    victim = StartClient(client);
    // Finished ones are replaced, too, and must have finished well.
    for (pid_t& other : clients) {
      if (waitpid(other, &status, WNOHANG) == other) {
        errors += Failed(status);
        other = StartClient(client);
      }
    }
  }
  for (const pid_t other : clients) {
    waitpid(other, &status, 0);
    errors += Failed(status);
  }

  Holdings after;
  for (int wait = 0; wait < 50; ++wait) {
    std::this_thread::sleep_for(100ms);
    if (kill(server, 0) != 0) return fmt::print("the server has died\n"), 1;
    after = HoldingsOf(server);
    if (after.IsWithin(before)) break;
  }
  fmt::print(
      "{} kills among {} clients: {} errors seen by others; descriptors {} -> {}, threads {} -> {}, memory files "
      "mapped {} -> {}\n",
      kills, kClients, errors, before.descriptors, after.descriptors, before.threads, after.threads,
      before.memory_files, after.memory_files);
  return errors == 0 && after.IsWithin(before) ? 0 : 1;
}
