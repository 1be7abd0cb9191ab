#include "frame/mps.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "frame/files.h"
#include "frame/find_driver.h"
#include "frame/process.h"
#include "os/fd.h"

namespace tutti::gpu {
namespace {

constexpr char kProgram[] = "nvidia-cuda-mps-control";

std::string ControlProgram(const Settings& settings) {
  return settings.mps.empty() ? FindNvidiaProgram(kProgram) : settings.mps;
}

// Runs the program with `input` on its standard input; its output.
std::string Talk(const std::string& program, const std::vector<std::string>& options, const std::string& input,
                 const std::vector<std::pair<std::string, std::string>>& environment, double seconds, bool* well) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0) return "";
  os::Fd read_in(in[0]), write_in(in[1]), read_out(out[0]), write_out(out[1]);
  ProcessPlan plan{.arguments = {program}, .environment = environment, .files = {{in[0], 0}, {out[1], 1}, {out[1], 2}}};
  for (const std::string& option : options) plan.arguments.push_back(option);
  const pid_t child = StartProcess(plan);
  if (child < 0) return "";
  write_out.Reset();
  read_in.Reset();
  if (!input.empty() && write(write_in.get(), input.data(), input.size()) < 0) return "";
  write_in.Reset();
  const Ending ending = WaitFor(child, seconds);
  if (!ending.ended) {
    kill(child, SIGKILL);
    WaitFor(child, 2);
  }
  *well = ending.ended && ending.status == 0;
  std::string text(4096, '\0');
  const ssize_t got = read(read_out.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace

std::string NvidiaMps::Start(const Settings& settings) {
  program_ = ControlProgram(settings);
  if (program_.empty()) return std::string("not here: ") + kProgram + " of NVIDIA";
  pipes_ = settings.scratch + "/mps";
  logs_ = settings.scratch + "/mpslog";
  mkdir(pipes_.c_str(), 0700);
  mkdir(logs_.c_str(), 0700);
  bool well = false;
  // -d returns when the daemon listens.
  const std::string said =
      Talk(program_, {"-d"}, "", {{"CUDA_MPS_PIPE_DIRECTORY", pipes_}, {"CUDA_MPS_LOG_DIRECTORY", logs_}}, 10, &well);
  if (well) return "";
  program_.clear();
  return std::string(kProgram) + " -d failed: " + said;
}

void NvidiaMps::End() {
  if (program_.empty()) return;
  bool well = false;
  Talk(program_, {}, "quit -t 1\n", {{"CUDA_MPS_PIPE_DIRECTORY", pipes_}, {"CUDA_MPS_LOG_DIRECTORY", logs_}}, 4, &well);
  program_.clear();
}

std::string AskNvidiaMps(const std::string& command, double seconds) {
  const std::string program = ControlProgram(Here());
  bool well = false;
  return program.empty() ? "" : Talk(program, {}, command + "\n", {}, seconds, &well);
}

}  // namespace tutti::gpu
