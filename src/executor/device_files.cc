#include "executor/device_files.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.h"
#include "os/spawn.h"

namespace tutti::executor {

void MakeDeviceFiles(const DeviceFiles& files) {
  const auto is_there = [&](const char* name) { return access((files.folder + name).c_str(), F_OK) == 0; };
  if (is_there("/nvidiactl") && is_there("/nvidia-uvm")) return;
  if (access(files.program.c_str(), X_OK) != 0) return;
  const os::Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto child = os::Spawn(
      {.path = files.program,
       .arguments = {files.program, "-c=0", "-u"},
       .files = {{nothing.get(), STDIN_FILENO}, {STDERR_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}},
       .without_environment = true});
  if (!child) return;
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tutti::executor
