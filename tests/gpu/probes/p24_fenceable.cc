// P24: how much of the device code that programs use has PTX, which can be fenced. By library: its fat binaries. By
// launches: the kernels that two models launch, looked for in all PTX of those libraries.
#include <fcntl.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "frame/files.h"
#include "frame/numbers.h"
#include "frame/process.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/torch.h"
#include "os/fd.h"
#include "probes/device_code.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

constexpr size_t kSmallest = 1 << 20;

// cuBLAS, cuDNN and what belongs to PyTorch, each file once.
std::vector<std::string> Libraries(const Torch& torch) {
  std::vector<std::string> folders = {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"};
  if (!torch.folder.empty()) {
    folders.push_back(torch.folder + "/lib");
    for (const std::string& part : FilesIn(torch.folder + "/../nvidia"))
      folders.push_back(torch.folder + "/../nvidia/" + part + "/lib");
  }
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& folder : folders) {
    for (const std::string& name : FilesIn(folder)) {
      const bool wanted = name.starts_with("libcublas") || name.starts_with("libcudnn") ||
                          name.starts_with("libtorch_cuda") || name.starts_with("libcusparse") ||
                          name.starts_with("libnccl");
      if (!wanted || name.find(".so") == std::string::npos) continue;
      std::error_code error;
      const std::string path = std::filesystem::canonical(folder + "/" + name, error);
      if (error || !seen.insert(path).second || std::filesystem::file_size(path, error) < kSmallest) continue;
      files.push_back(path);
    }
  }
  return files;
}

void ByLibrary(std::string_view) {
  const auto libraries = Libraries(FindTorch());
  if (libraries.empty()) GiveUp(Outcome::kLacks, "not here: libraries of cuBLAS, cuDNN, PyTorch");
  for (const std::string& library : libraries) {
    const auto code = ReadDeviceCode(library, false, 0);
    if (!code || code->units == 0) continue;
    Record()
        .Set("library", library.substr(library.rfind('/') + 1))
        .Set("fat binaries", code->units)
        .Set("with PTX", code->units_with_ptx)
        .Set("PTX texts", code->texts)
        .Set("cubins", code->cubins)
        .Set("with PTX, %", 100.0 * static_cast<double>(code->units_with_ptx) / static_cast<double>(code->units))
        .Write();
  }
}

// What the models launch, as lines of model, count and kernel.
std::string Profile(const Torch& torch) {
  const std::string file = Here().scratch + "/profile";
  const os::Fd output(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const pid_t child = StartProcess({.arguments = {torch.python, Here().data + "/torch_work.py", "profile"},
                                    .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}, {"CUDA_MODULE_LOADING", "LAZY"}},
                                    .files = {{output.get(), 1}}});
  const Ending ending = WaitFor(child, 45);
  if (!ending.ended) kill(child, SIGKILL);
  if (!ending.ended || ending.status != 0)
    GiveUp(Outcome::kFailed, "the profile of the models ended with " +
                                 (ending.ended ? Describe(ending.status) : std::string("nothing in time")));
  return ReadFile(file, 4 << 20);
}

void ByLaunches(std::string_view) {
  const Torch torch = FindTorch();
  if (torch.python.empty()) GiveUp(Outcome::kLacks, torch.why_not);
  const std::string profile = Profile(torch);
  std::set<std::string> kernels, bare;
  bool complete = true;
  const uint64_t deadline_ns = NowNs() + 15'000'000'000;
  for (const std::string& library : Libraries(torch)) {
    auto code = ReadDeviceCode(library, true, deadline_ns);
    if (!code) continue;
    complete = complete && code->names_complete;
    kernels.merge(code->kernels);
  }
  for (const std::string& kernel : kernels) bare.insert(BareName(kernel));
  struct Launches {
    double all = 0, with_ptx = 0, perhaps = 0;
  };
  std::map<std::string, Launches> launches;  // by model
  std::istringstream lines(profile);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) continue;
    const double count = std::strtod(line.c_str() + first + 1, nullptr);
    const std::string kernel = FullName(line.substr(second + 1));
    Launches& model = launches[line.substr(0, first)];
    model.all += count;
    model.with_ptx += kernels.contains(kernel) ? count : 0;
    model.perhaps += bare.contains(BareName(kernel)) ? count : 0;
  }
  for (const auto& [model, counts] : launches)
    Record()
        .Set("model", model)
        .Set("launches", counts.all)
        .Set("with PTX, %", 100 * counts.with_ptx / counts.all)
        .Set("with PTX of the same name, other arguments, %", 100 * counts.perhaps / counts.all)
        .Set("all PTX was read", complete)
        .Write();
}

std::string Decide(const Evidence& evidence) {
  const auto least = evidence.Least("P24", "by_launches", "with PTX, %");
  if (!least) {
    const auto libraries = evidence.Most("P24", "by_library", "with PTX, %");
    return evidence.Undecided("P24", "by_launches") +
           (libraries ? "; of the libraries' fat binaries at most " + Show(*libraries) + "% have PTX" : "");
  }
  const double most =
      evidence.Least("P24", "by_launches", "with PTX of the same name, other arguments, %").value_or(*least);
  const std::string share = "of a model's launches " + Show(*least) + "% at least have PTX" +
                            (most > *least ? ", " + Show(most) + "% if arguments of templates are not looked at" : "");
  if (*least >= 99.5) return "`auto` keeps such programs in `shared`: " + share;
  if (most >= 99.5) return "undecided: " + share;
  return "programs of such libraries go to `nested` at once, `shared` is for the rest: " + share;
}

constexpr Step kSteps[] = {{"by_library", ByLibrary, 40}, {"by_launches", ByLaunches, 70}};

}  // namespace

const Probe kP24{
    "P24", "How much of cuBLAS, cuDNN and PyTorch has PTX, by fat binaries and by launches?", kSteps, {}, Decide};

}  // namespace tutti::gpu
