#include "frame/talk.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "frame/process.h"
#include "os/fd.h"

namespace tutti::gpu {

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

}  // namespace tutti::gpu
