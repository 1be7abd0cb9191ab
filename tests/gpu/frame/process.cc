// A hung driver call can neither be cancelled nor waited for, and a program under test may leave servers behind. So the
// run is the subreaper of all its descendants (PR_SET_CHILD_SUBREAPER): whatever a step leaves, however deep, becomes a
// child of the run and is found in /proc by that.
#include "frame/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/clock.h"

extern char** environ;

namespace tutti::gpu {
namespace {

std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return children;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(line.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == getpid()) children.push_back(pid);
  }
  closedir(folder);
  return children;
}

}  // namespace

pid_t StartProcess(const ProcessPlan& plan) {
  std::vector<std::string> texts;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    bool replaced = false;
    for (const auto& [name, value] : plan.environment) replaced |= text.starts_with(name + "=");
    if (!replaced) texts.push_back(text);
  }
  for (const auto& [name, value] : plan.environment) texts.push_back(name + "=" + value);
  std::vector<char*> variables, arguments;
  for (std::string& text : texts) variables.push_back(text.data());
  variables.push_back(nullptr);
  for (const std::string& text : plan.arguments) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);

  const pid_t child = fork();
  if (child != 0) {
    if (child > 0 && plan.own_group) setpgid(child, child);
    return child;
  }
  if (plan.own_group) setpgid(0, 0);
  // Ends with whoever started it: nobody else would end it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Two rounds, so that no descriptor is overwritten before it is moved.
  int moved[16];
  for (size_t i = 0; i < plan.files.size() && i < 16; ++i) moved[i] = fcntl(plan.files[i].first, F_DUPFD_CLOEXEC, 32);
  for (size_t i = 0; i < plan.files.size() && i < 16; ++i) {
    if (moved[i] >= 0) dup2(moved[i], plan.files[i].second);
  }
  execve(arguments[0], arguments.data(), variables.data());
  _exit(127);
}

Ending WaitFor(pid_t child, double seconds, const volatile bool* interrupted) {
  const uint64_t end = NowNs() + static_cast<uint64_t>(seconds * 1e9);
  Ending ending;
  for (useconds_t pause = 200;; pause = pause < 5000 ? pause * 2 : 5000) {
    const pid_t got = waitpid(child, &ending.status, WNOHANG);
    ending.ended = got == child;
    if (got != 0 || NowNs() >= end || (interrupted != nullptr && *interrupted)) return ending;
    usleep(pause);
  }
}

std::string Describe(int status) {
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

int EndAllChildren() {
  const uint64_t end = NowNs() + 2'000'000'000;
  for (;;) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> children = Children();
    if (children.empty()) return 0;
    if (NowNs() >= end) return static_cast<int>(children.size());
    for (const pid_t child : children) kill(child, SIGKILL);
    usleep(2000);
  }
}

std::string FindProgram(const std::string& name, const std::vector<std::string>& folders) {
  const char* const path = std::getenv("PATH");
  std::string all = path == nullptr ? "" : path;
  for (const std::string& folder : folders) all += ":" + folder;
  all +=
      ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin:/opt/conda/bin:/opt/venv/bin:/"
      "venv/bin";
  std::istringstream list(all);
  for (std::string folder; std::getline(list, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (folder.starts_with('/') && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace tutti::gpu
