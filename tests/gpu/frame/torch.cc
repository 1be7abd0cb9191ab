#include "frame/torch.h"

#include <fcntl.h>
#include <signal.h>

#include <sstream>
#include <vector>

#include "frame/files.h"
#include "frame/process.h"
#include "frame/settings.h"
#include "os/fd.h"

namespace tutti::gpu {
namespace {

// What the interpreter prints, within half a minute.
std::string Print(const std::string& python, const std::string& file) {
  const os::Fd output(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const pid_t child = StartProcess(
      {.arguments = {python, "-c",
                     "import torch; print(torch.__version__); print(torch.__path__[0]); print(torch.version.cuda)"},
       .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}},
       .files = {{output.get(), 1}}});
  if (child < 0) return "";
  const Ending ending = WaitFor(child, 30);
  if (!ending.ended) {
    kill(child, SIGKILL);
    WaitFor(child, 2);
  }
  return ending.ended && ending.status == 0 ? ReadFile(file) : "";
}

Torch Look() {
  Torch torch;
  std::vector<std::string> pythons;
  for (const char* name : {"python3", "python"}) {
    if (const std::string python = FindProgram(name); !python.empty()) pythons.push_back(python);
  }
  for (const char* path : {"/opt/conda/bin/python3", "/opt/venv/bin/python3", "/venv/bin/python3",
                           "/usr/local/bin/python3", "/usr/bin/python3"}) {
    if (FileContains(path, "ELF")) pythons.emplace_back(path);
  }
  torch.why_not =
      pythons.empty() ? "not here: python3" : "not here: PyTorch (" + pythons.front() + " does not find it)";
  for (const std::string& python : pythons) {
    std::istringstream printed(Print(python, Here().scratch + "/torch.print"));
    std::string cuda;
    if (!std::getline(printed, torch.version) || !std::getline(printed, torch.folder)) continue;
    std::getline(printed, cuda);
    if (cuda.empty() || cuda == "None") {
      torch.why_not = "not here: PyTorch with CUDA (" + python + " has one without)";
      continue;
    }
    torch.python = python;
    torch.why_not.clear();
    break;
  }
  return torch;
}

}  // namespace

Torch FindTorch() {
  const std::string file = Here().scratch + "/torch";
  Torch torch;
  std::istringstream kept(ReadFile(file));
  if (std::getline(kept, torch.python) && std::getline(kept, torch.version) && std::getline(kept, torch.folder) &&
      std::getline(kept, torch.why_not))
    return torch;
  torch = Look();
  WriteFile(file, torch.python + "\n" + torch.version + "\n" + torch.folder + "\n" + torch.why_not + "\n\n");
  return torch;
}

}  // namespace tutti::gpu
