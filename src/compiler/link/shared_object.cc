#include "compiler/link/shared_object.h"

#include <fcntl.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <optional>

#include "os/fd.h"

LLD_HAS_DRIVER(elf)

// lld takes files by path only. For its inputs that is /proc/self/fd/N of a memory file, and these paths are all the
// file system it needs: the sandbox of tutti-compiler (worker/sandbox.h) allows exactly them. For its output lld would
// create a temporary file beside the path and rename it, unless the output is "-", the standard output: then it builds
// the image in memory and writes it to descriptor 1. So descriptor 1 is a memory file while lld runs.
namespace tutti::compiler {
namespace {

constexpr int kStandardOutput = 1;

// Redirects descriptor 1 to `target` and restores it.
class RedirectedOutput {
 public:
  explicit RedirectedOutput(int target) : saved_(fcntl(kStandardOutput, F_DUPFD_CLOEXEC, 3)) {
    dup2(target, kStandardOutput);
  }
  RedirectedOutput(const RedirectedOutput&) = delete;
  RedirectedOutput& operator=(const RedirectedOutput&) = delete;
  ~RedirectedOutput() {
    if (saved_) {
      dup2(saved_.get(), kStandardOutput);
    } else {
      close(kStandardOutput);
    }
  }

 private:
  os::Fd saved_;
};

Result<os::Fd> MemoryFile(const char* name) {
  os::Fd file(memfd_create(name, MFD_CLOEXEC));
  if (!file) return FailErrno("memfd_create");
  return file;
}

std::string PathOf(const os::Fd& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

Status WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0) return FailErrno("writing a memory file");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<std::vector<uint8_t>> ReadAll(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return FailErrno("fstat of a memory file");
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return FailErrno("reading a memory file");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace

Result<std::vector<uint8_t>> LinkSharedObject(std::span<const uint8_t> kernel, std::span<const uint8_t> support,
                                              const std::string& name) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);

  std::vector<os::Fd> inputs;
  std::vector<std::string> paths;
  for (const auto object : {kernel, support}) {
    if (object.empty()) continue;
    TUTTI_ASSIGN(os::Fd input, MemoryFile("tutti-object"));
    TUTTI_TRY(WriteAll(input.get(), object));
    paths.push_back(PathOf(input));
    inputs.push_back(std::move(input));
  }
  TUTTI_ASSIGN(const os::Fd output, MemoryFile("tutti-kernel"));
  // clang-format off
  std::vector<const char*> arguments = {"ld.lld", "-shared", "-z", "defs", "-z", "noexecstack", "-z", "relro",
                                        "--gc-sections", "--hash-style=gnu", "--build-id=none", "--threads=1",
                                        "-soname", name.c_str(), "-o", "-"};
  // clang-format on
  for (const std::string& path : paths) arguments.push_back(path.c_str());
  std::string said;
  llvm::raw_string_ostream out(said);
  std::fflush(stdout);
  llvm::outs().flush();
  std::optional<RedirectedOutput> redirected(output.get());
  const bool linked = lld::elf::link(arguments, out, out, /*exitEarly=*/false, /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  redirected.reset();
  // lld does not check whether all of it was written.
  const std::error_code written = llvm::outs().error();
  llvm::outs().clear_error();
  if (!linked) return Fail("linking kernel " + name + ": " + said);
  if (written) return Fail("linking kernel " + name + ": writing the object: " + written.message());
  return ReadAll(output.get());
}

}  // namespace tutti::compiler
