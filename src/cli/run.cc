// `tutti run`: sets the environment and execs the program, so signals, exit status and process id are the program's
// own.
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/installation.h"
#include "cli/machine_code.h"
#include "cli/subcommands.h"
#include "cli/values.h"
#include "control/limits.h"
#include "os/program.h"
#include "wire/limits.h"

namespace tutti::cli {
namespace {

struct RunOptions {
  std::string percentage;
  std::string memory;
  std::string priority;
  std::string libraries;
  std::vector<std::string> command;
};

// The same limit on every device.
std::string OnEveryDevice(const std::string& memory) {
  std::string text;
  for (uint32_t device = 0; device < wire::kMaxDevices; ++device)
    text += fmt::format("{}{}={}", device == 0 ? "" : ",", device, memory);
  return text;
}

Status SetLimits(const RunOptions& options) {
  if (!options.percentage.empty()) {
    TUTTI_TRY(control::ParsePercentage(options.percentage));
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", options.percentage.c_str(), 1);
  }
  if (!options.memory.empty()) {
    TUTTI_TRY(control::ParseMemory(options.memory));
    setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", OnEveryDevice(options.memory).c_str(), 1);
  }
  if (!options.priority.empty()) setenv("CUDA_MPS_CLIENT_PRIORITY", options.priority == "low" ? "1" : "0", 1);
  return {};
}

// Before glibc 2.35 an auditing library slows each call from one library to another, whatever it audits.
bool AuditingSlowsCalls() {
  int major = 0, minor = 0;
  const bool known = std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2;
  return !known || std::pair(major, minor) < std::pair(2, 35);
}

void PutInFront(const char* variable, const std::string& directory) {
  const char* const before = std::getenv(variable);
  setenv(variable, before != nullptr && *before != '\0' ? (directory + ":" + before).c_str() : directory.c_str(), 1);
}

// Undoes what a tutti run around this one has done.
void TakeOut(const char* variable, const std::string& directory) {
  const char* const set = std::getenv(variable);
  std::string rest = ":" + std::string(set != nullptr ? set : "") + ":";
  const std::string entry = ":" + directory + ":";
  for (size_t at = rest.find(entry); at != rest.npos; at = rest.find(entry)) rest.replace(at, entry.size(), ":");
  if (set != nullptr) setenv(variable, rest.size() < 2 ? "" : rest.substr(1, rest.size() - 2).c_str(), 1);
}

// XLA, the compiler of JAX, compiles tens of kernels for a product of matrices and takes the fastest. Compiling takes
// longer here than on a GPU: products of two small matrices took 74 s, and take 4 s without. A program that names a
// level keeps it. What does not begin with a hyphen is the name of a file of flags.
void KeepXlaFromTuning() {
  constexpr std::string_view kFlag = "--xla_gpu_autotune_level";
  const std::string flags = os::Environment("XLA_FLAGS");
  const size_t begin = flags.find_first_not_of(" \t\n");
  if (flags.find(kFlag) != flags.npos || (begin != flags.npos && flags[begin] != '-')) return;
  setenv("XLA_FLAGS", fmt::format("{}{}{}=0", flags, flags.empty() ? "" : " ", kFlag).c_str(), 1);
}

// JAX checks the versions of the vendor's libraries before it uses a device; CUPTI of CUDA 13 says its own with the
// vendor's driver only.
void SetForJax() {
  KeepXlaFromTuning();
  setenv("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1", 0);
}

// Programs that compile as they run would load machine code. The libraries that they compile with are made to keep PTX
// in it (src/keep_ptx), and CuPy, which keeps what it has compiled in files, to load PTX. And where a program loads the
// vendor's cuBLAS or cuFFT, by whatever path, it gets the CPU device's (src/libraries).
void Audit(const std::string& directory, bool our_libraries, bool keep_ptx) {
  const std::string library = directory + "/libtutti-keep-ptx.so";
  if ((!keep_ptx && !our_libraries) || access(library.c_str(), R_OK) != 0 || AuditingSlowsCalls()) return;
  if (keep_ptx) setenv("CUPY_COMPILE_WITH_PTX", "1", 0);
  if (keep_ptx) SetForJax();
  // torch.compile measures products with padded shapes, whose zeroes PyTorch's own kernels write: machine code.
  if (keep_ptx) setenv("TORCHINDUCTOR_SHAPE_PADDING", "0", 0);
  const std::string others = os::Environment("LD_AUDIT");
  if (others.find(library) != others.npos) return;  // of a tutti run around this one
  setenv("LD_AUDIT", others.empty() ? library.c_str() : (others + ":" + library).c_str(), 1);
}

// Whether the libraries of the CPU device come in place of the vendor's, if the user has said so.
Result<std::optional<bool>> OurLibraries(const RunOptions& options) {
  const std::string choice = options.libraries.empty() ? os::Environment("TUTTI_LIBRARIES") : options.libraries;
  if (choice.empty()) return std::nullopt;
  if (choice == "ours") return true;
  if (choice == "vendors") return false;
  return Fail(fmt::format("TUTTI_LIBRARIES is \"{}\": ours or vendors", choice));
}

// nvidia-smi: of the devices that the program gets, not of a GPU beside them.
void PutToolsFirst(const std::string& directory) {
  const std::string tools = ToolsDirectory(directory);
  if (access((tools + "/nvidia-smi").c_str(), X_OK) != 0) return;
  PutInFront("PATH", tools);
}

Status SetLibraries(const RunOptions& options) {
  TUTTI_ASSIGN(const std::string directory, LibraryDirectory());
  TUTTI_ASSIGN(const std::optional<bool> choice, OurLibraries(options));
  const bool may_keep_ptx = os::Environment("TUTTI_KEEP_PTX") != "0";
  // The daemon is asked only if that decides something: it may have to start a server.
  const bool machine_code = (!choice || may_keep_ptx) && DevicesLoadMachineCode();
  const bool ours = choice.value_or(!machine_code);
  Audit(directory, ours, !machine_code && may_keep_ptx);
  setenv("TUTTI_LIBRARIES", ours ? "ours" : "vendors", 1);
  TakeOut("LD_LIBRARY_PATH", StandInDirectory(directory));
  PutInFront("LD_LIBRARY_PATH", directory);
  if (ours) PutInFront("LD_LIBRARY_PATH", StandInDirectory(directory));
  PutToolsFirst(directory);
  return {};
}

// Returns only if the program cannot be executed, with the exit status that shells use for that.
int Become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int reason = errno;
  Complain(fmt::format("cannot run {}: {}", command[0], std::strerror(reason)));
  return reason == ENOENT ? 127 : 126;
}

int Run(const RunOptions& options) {
  if (const auto set = SetLimits(options); !set) return Complain(set.error().text);
  if (const auto set = SetLibraries(options); !set) return Complain(set.error().text);
  return Become(options.command);
}

}  // namespace

void AddRun(Command& tutti) {
  Command& run = tutti.AddCommand("run", "Run a CUDA program on the shared device");
  const auto options = std::make_shared<RunOptions>();
  run.AddOption("-t,--threads,--percentage", &options->percentage,
                "At most this percentage of the device: above 0, at most 100");
  run.AddOption("-m,--memory", &options->memory, "At most this much memory of each device: 2G, 512M");
  run.AddOption("-p,--priority", &options->priority, "low or normal; normal goes first")
      .Check(OneOf({"normal", "low"}));
  run.AddOption(
         "--libraries", &options->libraries,
         "ours: cuBLAS and cuFFT of the CPU device in place of the vendor's, as by default where there is no GPU; "
         "vendors: those as they are")
      .Check(OneOf({"ours", "vendors"}));
  run.AddOption("program", &options->command, "The program and its arguments, after --").Required();
  run.PositionalsEndOptions();
  run.Do([options] { return Run(*options); });
}

}  // namespace tutti::cli
