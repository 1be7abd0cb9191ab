// SIGKILL is an ordinary event: among eight clients that compute without a pause, one is killed at a random moment, 200
// times, and replaced. No other client may see an error or a wrong result, and when all are gone the server holds no more
// descriptors, threads or mappings than before.
//
//   kill_storm CONTROL CLIENT [KILLS]    with CUDA_MPS_PIPE_DIRECTORY of a running daemon
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

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

std::string FirstLine(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  char line[128] = "";
  if (std::fgets(line, sizeof line, pipe) == nullptr) line[0] = '\0';
  pclose(pipe);
  return line;
}

// What a server holds; settles shortly after its clients are gone.
struct Holdings {
  size_t descriptors = 0, threads = 0, mappings = 0;
  bool operator<=(const Holdings& other) const {
    return descriptors <= other.descriptors && threads <= other.threads && mappings <= other.mappings;
  }
};

size_t CountEntries(const std::string& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

// Threads but those of the server's pools, which start when needed, up to a fixed number, and stay.
size_t CountThreads(const std::string& tasks) {
  size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name != "loader" && name != "reaper";
  }
  return count;
}

Holdings Inspect(int server) {
  const std::string proc = fmt::format("/proc/{}/", server);
  Holdings holdings{CountEntries(proc + "fd"), CountThreads(proc + "task"), 0};
  std::ifstream maps(proc + "maps");
  // Windows and channels are what a client must not leave behind; the heap may well have grown.
  for (std::string line; std::getline(maps, line);) holdings.mappings += line.find("memfd:") != std::string::npos;
  return holdings;
}

// 0 if the child ended by itself with status 0, or was killed by us.
int Failed(int status) { return !(WIFEXITED(status) && WEXITSTATUS(status) == 0) && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); }

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

  // As many clients as later, from beginning to end: the server is up, the code is compiled, its thread pools have their
  // size, and this is what it holds with nobody there.
  int status;
  std::vector<pid_t> first;
  for (size_t i = 0; i < kClients; ++i) first.push_back(StartClient(client));
  for (const pid_t child : first) {
    waitpid(child, &status, 0);
    if (Failed(status)) return fmt::print("one of the first clients failed\n"), 1;
  }
  const int server = std::atoi(FirstLine("echo get_server_list | '" + control + "'").c_str());
  if (server <= 0) return fmt::print("no server\n"), 1;
  std::this_thread::sleep_for(500ms);
  const Holdings before = Inspect(server);

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
    // Those that finished are replaced, too, and must have finished well.
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
    after = Inspect(server);
    if (after <= before) break;
  }
  fmt::print("{} kills among {} clients: {} errors seen by others; descriptors {} -> {}, threads {} -> {}, memory files mapped {} -> {}\n", kills,
             kClients, errors, before.descriptors, after.descriptors, before.threads, after.threads, before.mappings, after.mappings);
  return errors == 0 && after <= before ? 0 : 1;
}
