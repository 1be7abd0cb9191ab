#include "load/clients.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "load/usage.h"

namespace bench {
namespace {

[[noreturn]] void Die(const std::string& text) {
  fmt::print(stderr, "bench: {}\n", text);
  std::exit(1);
}

std::string Folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

std::string Control(const std::string& command) {
  FILE* const pipe = popen(fmt::format("'{}/../bin/tutti-control' {}", Folder(), command).c_str(), "r");
  if (pipe == nullptr) Die("tutti-control cannot be started");
  std::string answer;
  char part[4096];
  for (size_t count; (count = std::fread(part, 1, sizeof part, pipe)) > 0;) answer.append(part, count);
  if (pclose(pipe) != 0) Die("no daemon answers; is CUDA_MPS_PIPE_DIRECTORY that of a running one?");
  return answer;
}

nlohmann::json Report() {
  auto report = nlohmann::json::parse(Control("report"), nullptr, false);
  if (report.is_discarded()) Die("the daemon's report cannot be read");
  return report;
}

constexpr gid_t kGroup = 65534;  // of other users here: tools/bench lets it into the daemon's directory

void Become(uid_t uid) {
  if (setgroups(0, nullptr) != 0 || setresgid(kGroup, kGroup, kGroup) != 0 || setresuid(uid, uid, uid) != 0) _exit(126);
}

}  // namespace

bool MayBeOthers() {
  if (geteuid() != 0) return false;
  const pid_t pid = fork();
  if (pid == 0) {
    Become(kGroup);
    const char* const directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    _exit(directory != nullptr && access(directory, X_OK) == 0 && access((Folder() + "/load_client").c_str(), X_OK) == 0
              ? 0
              : 1);
  }
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Clients::Clients(const std::vector<ClientSpec>& specs) {
  for (const ClientSpec& spec : specs) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) Die("no pipes");
    std::vector<std::string> words = {Folder() + "/load_client"};
    std::istringstream arguments(spec.arguments);
    for (std::string word; arguments >> word;) words.push_back(word);
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", spec.percentage).c_str(), 1);
      setenv("CUDA_MPS_CLIENT_PRIORITY", spec.below_normal ? "1" : "0", 1);
      if (spec.without_daemon) ForgetDaemon();
      if (spec.uid != 0) Become(spec.uid);
      dup2(in[0], 0);
      dup2(out[1], 1);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    processes_.push_back({pid, in[1], fdopen(out[0], "r")});
    // One after the other: each calibrates itself to the device's speed.
    char line[64];
    if (std::fgets(line, sizeof line, processes_.back().from) == nullptr) Die("a client has failed");
  }
}

Clients::~Clients() { End(); }

void Clients::Begin() {
  for (size_t i = 0; i < processes_.size(); ++i) Tell(i);
}

void Clients::Tell(size_t client) {
  if (write(processes_[client].to, "g", 1) != 1) Die("a client is gone");
}

std::vector<std::string> Clients::End() {
  std::vector<std::string> outputs;
  for (const Process& process : processes_) close(process.to);
  for (const Process& process : processes_) {
    char line[256] = "";
    if (std::fgets(line, sizeof line, process.from) == nullptr) Die("a client has written nothing");
    outputs.emplace_back(line);
    std::fclose(process.from);
    waitpid(process.pid, nullptr, 0);
  }
  processes_.clear();
  return outputs;
}

std::vector<uint64_t> Clients::Counter(const std::string& name) const {
  std::vector<uint64_t> values(processes_.size());
  const nlohmann::json report = Report();
  for (const auto& server : report["servers"]) {
    for (const auto& client : server["clients"]) {
      for (size_t i = 0; i < processes_.size(); ++i) {
        if (client["pid"] == processes_[i].pid) values[i] = client["counters"].value(name, uint64_t{0});
      }
    }
  }
  return values;
}

std::vector<double> Clients::SharesOver(double seconds) const {
  const auto before = Counter("device_ns");
  const uint64_t begin_ns = tutti::NowNs();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const auto after = Counter("device_ns");
  const double all_ns = static_cast<double>(tutti::NowNs() - begin_ns) * SmCount();
  std::vector<double> shares;
  for (size_t i = 0; i < after.size(); ++i) shares.push_back(static_cast<double>(after[i] - before[i]) / all_ns);
  return shares;
}

void SetPolicy(const std::string& policy) { Control("set_policy " + policy); }

int SmCount() {
  const nlohmann::json report = Report();
  for (const auto& server : report["servers"]) {
    for (const auto& device : server["devices"]) return device["sm_count"];
  }
  Die("no server runs");
}

}  // namespace bench
