#include "frame/environment.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "frame/files.h"
#include "frame/kernel_log.h"

namespace tutti::gpu {

std::string DescribeEnvironment(const Settings& settings) {
  std::string text;
  const auto add = [&](const std::string& title, const std::string& content) {
    text += "== " + title + "\n" + content + (content.ends_with('\n') ? "" : "\n");
  };
  utsname system{};
  uname(&system);
  add("system", std::string(system.sysname) + " " + system.release + " " + system.version + " " + system.machine);
  add("user", std::to_string(getuid()));
  add("vendor", settings.vendor);
  rlimit files{}, locked{};
  getrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_MEMLOCK, &locked);
  add("limits", "files " + std::to_string(files.rlim_cur) + " of " + std::to_string(files.rlim_max) +
                    ", locked bytes " + std::to_string(locked.rlim_cur));
  for (const char* path :
       {"/proc/cmdline", "/proc/driver/nvidia/version", "/proc/driver/nvidia/params", "/proc/meminfo",
        "/proc/self/cgroup", "/proc/self/status", "/proc/sys/kernel/randomize_va_space",
        "/sys/kernel/mm/transparent_hugepage/shmem_enabled", "/etc/os-release"})
    add(path, ReadFile(path, 16 << 10));
  const std::string processor = ReadFile("/proc/cpuinfo", 4 << 10);
  add("/proc/cpuinfo, first processor of " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)),
      processor.substr(0, processor.find("\n\n")));
  const std::string problem = KernelLog().problem();
  add("the kernel's log", problem.empty() ? "read: its lines of the GPU stand beside the steps" : problem);
  std::string devices;
  for (const std::string& name : FilesIn("/dev")) {
    if (name.starts_with("nvidia")) devices += name + " ";
  }
  add("/dev", devices);
  return text;
}

}  // namespace tutti::gpu
