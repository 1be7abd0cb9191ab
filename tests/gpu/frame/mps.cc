#include "frame/mps.h"

#include <sys/stat.h>

#include "frame/files.h"
#include "frame/find_driver.h"
#include "frame/talk.h"

namespace tutti::gpu {
namespace {

constexpr char kProgram[] = "nvidia-cuda-mps-control";

std::string ControlProgram(const Settings& settings) {
  return settings.mps.empty() ? FindNvidiaProgram(kProgram) : settings.mps;
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
