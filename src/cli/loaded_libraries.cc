#include "cli/loaded_libraries.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.h"
#include "os/spawn.h"

namespace tutti::cli {
namespace {

constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

std::string ReadToEnd(int fd) {
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<size_t>(got));
  }
}

}  // namespace

std::vector<std::string> PathsInListing(std::string_view listing) {
  constexpr std::string_view kArrow = " => ";
  std::vector<std::string> paths;
  while (!listing.empty()) {
    std::string_view line = listing.substr(0, listing.find('\n'));
    listing.remove_prefix(std::min(line.size() + 1, listing.size()));
    if (const size_t arrow = line.find(kArrow); arrow != std::string_view::npos)
      line.remove_prefix(arrow + kArrow.size());
    while (line.starts_with('\t')) line.remove_prefix(1);
    const size_t address = line.rfind(" (0x");
    if (line.starts_with('/') && address != std::string_view::npos) paths.emplace_back(line.substr(0, address));
  }
  return paths;
}

Result<std::vector<std::string>> LoadedLibraries(const std::string& file) {
  struct stat info{};
  if (geteuid() == 0 && (stat(file.c_str(), &info) != 0 || info.st_uid != 0 || (info.st_mode & 022) != 0))
    return Fail(EPERM, file + " could be made to run as root by the loader: its owner may ask for its libraries");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FailErrno("cannot make a pipe");
  const os::Fd reader(ends[0]);
  os::Fd writer(ends[1]);
  const os::Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  TUTTI_ASSIGN(const pid_t loader,
               os::Spawn({.path = kLoader,
                          // A name without a slash would be searched for, one with a dash be an option.
                          .arguments = {kLoader, "--list", file.starts_with('/') ? file : "./" + file},
                          .files = {{nothing.get(), 0}, {writer.get(), 1}, {nothing.get(), 2}}}));
  writer.Reset();
  const std::string listing = ReadToEnd(reader.get());
  int status = 0;
  while (waitpid(loader, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return Fail("the loader does not load " + file);
  return PathsInListing(listing);
}

}  // namespace tutti::cli
