// The end-to-end check: a kernel through the whole chain. It runs in a child process, so that a crash or hang there is
// a finding, too.
#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "base/clock.h"
#include "cli/doctor_checks.h"
#include "cli/installation.h"
#include "cuda/result.h"

namespace tutti::cli {
namespace {

constexpr int kPatienceMs = 60'000;  // a first compilation on a slow machine

constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry probe(.param .u64 out) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mad.lo.u32 %r2, %r1, 3, 7;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

// What the probe needs of the driver API.
struct Driver {
  int (*init)(unsigned);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*load)(void** module, const void* image);
  int (*function)(void** function, void* module, const char* name);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*copy)(void* to, uint64_t from, size_t bytes);
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool Load(const std::string& path, Driver& driver) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && Find(library, "cuInit", driver.init) &&
         Find(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
         Find(library, "cuCtxSetCurrent", driver.set_current) && Find(library, "cuModuleLoadData", driver.load) &&
         Find(library, "cuModuleGetFunction", driver.function) && Find(library, "cuMemAlloc_v2", driver.allocate) &&
         Find(library, "cuLaunchKernel", driver.launch) && Find(library, "cuMemcpyDtoH_v2", driver.copy);
}

// "" on success, else what failed.
std::string Probe(const std::string& library) {
  Driver driver{};
  if (!Load(library, driver)) return "the library lacks functions";
  void *context = nullptr, *module = nullptr, *function = nullptr;
  uint64_t memory = 0;
  uint32_t values[32] = {};
  void* arguments[] = {&memory};
  const struct {
    const char* name;
    int result;
  } steps[] = {{"cuInit", driver.init(0)},
               {"cuDevicePrimaryCtxRetain", driver.retain(&context, 0)},
               {"cuCtxSetCurrent", driver.set_current(context)},
               {"cuModuleLoadData", driver.load(&module, kPtx)},
               {"cuModuleGetFunction", driver.function(&function, module, "probe")},
               {"cuMemAlloc", driver.allocate(&memory, sizeof values)},
               {"cuLaunchKernel", driver.launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr)},
               {"cuMemcpyDtoH", driver.copy(values, memory, sizeof values)}};
  for (const auto& step : steps) {
    const char* const name = cuda::ResultName(step.result);
    if (step.result != 0)
      return fmt::format("{} returned {}", step.name, name != nullptr ? name : std::to_string(step.result));
  }
  for (uint32_t i = 0; i < 32; ++i) {
    if (values[i] != 3 * i + 7) return fmt::format("thread {} computed {} instead of {}", i, values[i], 3 * i + 7);
  }
  return "";
}

// Runs the probe in a child process: its finding, or how it ended.
std::string ProbeInChild(const std::string& library) {
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) return "pipe failed";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = Probe(library);
    [[maybe_unused]] const ssize_t written = write(pipe_fds[1], text.data(), text.size());
    _exit(0);
  }
  close(pipe_fds[1]);
  pollfd wait{pipe_fds[0], POLLIN, 0};
  const bool in_time = poll(&wait, 1, kPatienceMs) == 1;
  if (!in_time) kill(child, SIGKILL);
  char text[512];
  const ssize_t size = read(pipe_fds[0], text, sizeof text);
  close(pipe_fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!in_time) return fmt::format("it was not done after {} s", kPatienceMs / 1000);
  if (WIFSIGNALED(status))
    return fmt::format("it died of signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
}

}  // namespace

Finding CheckKernel(const Patient&) {
  const auto directory = LibraryDirectory();
  if (!directory) return {Finding::Kind::kProblem, "kernel: not tried without the library", ""};
  const uint64_t begin = NowNs();
  const std::string wrong = ProbeInChild(*directory + "/libcuda.so.1");
  if (wrong.empty())
    return {.text = fmt::format("a kernel was compiled and ran in {} ms", (NowNs() - begin) / 1'000'000)};
  return {Finding::Kind::kProblem, "a kernel does not run: " + wrong,
          "see server.log in the log directory; TUTTI_LOG_LEVEL=debug says more"};
}

}  // namespace tutti::cli
