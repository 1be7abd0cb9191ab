#include "control/compute_mode.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "os/fd.h"

namespace tutti::control {
namespace {

constexpr std::array kModes = {ComputeMode::kDefault, ComputeMode::kExclusiveProcess, ComputeMode::kProhibited};
constexpr const char* kStateDirectory = "/var/lib/tutti";
constexpr size_t kMostLines = 1024;

std::string StateDirectory() {
  const char* const given = std::getenv("TUTTI_STATE_DIR");
  return given != nullptr && *given != '\0' ? given : kStateDirectory;
}

// Replaced atomically, so that readers never see half of it.
Status Replace(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const os::Fd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) return FailErrno("cannot write " + fresh);
  fchmod(file.get(), 0644);  // whatever the umask: every user's server reads it
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) || fsync(file.get()) != 0) {
    return FailErrno("cannot write " + fresh);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return FailErrno("cannot replace " + path);
  return {};
}

}  // namespace

const char* ComputeModeName(ComputeMode mode) {
  switch (mode) {
    case ComputeMode::kDefault: return "DEFAULT";
    case ComputeMode::kProhibited: return "PROHIBITED";
    case ComputeMode::kExclusiveProcess: return "EXCLUSIVE_PROCESS";
  }
  return "DEFAULT";
}

Result<ComputeMode> ParseComputeMode(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const ComputeMode mode : kModes) {
    if (upper == ComputeModeName(mode) || upper == std::to_string(static_cast<int>(mode))) return mode;
  }
  return Fail(fmt::format("compute mode \"{}\": expected DEFAULT, EXCLUSIVE_PROCESS or PROHIBITED", text));
}

std::string ComputeModes::File() { return StateDirectory() + "/compute_modes"; }

ComputeModes ComputeModes::Load() {
  ComputeModes modes;
  std::ifstream file(File());
  std::string line;
  for (size_t lines = 0; lines < kMostLines && std::getline(file, line); ++lines) {
    std::istringstream words(line);
    std::string uuid, name;
    words >> uuid >> name;
    if (const auto mode = ParseComputeMode(name); mode && *mode != ComputeMode::kDefault) modes.modes_[uuid] = *mode;
  }
  return modes;
}

ComputeMode ComputeModes::Of(std::string_view uuid) const {
  const auto found = modes_.find(uuid);
  return found == modes_.end() ? ComputeMode::kDefault : found->second;
}

Status ComputeModes::Set(const std::string& uuid, ComputeMode mode) {
  std::error_code ignored;
  std::filesystem::create_directories(StateDirectory(), ignored);
  // Serialises concurrent writers.
  const os::Fd lock(open(StateDirectory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX) != 0) return FailErrno("cannot use " + StateDirectory());
  ComputeModes modes = Load();
  modes.modes_.erase(uuid);
  if (mode != ComputeMode::kDefault) modes.modes_[uuid] = mode;
  std::string text = "# tutti device mode: compute modes of devices that are not in the default mode\n";
  for (const auto& [name, value] : modes.modes_) text += fmt::format("{} {}\n", name, ComputeModeName(value));
  return Replace(File(), text);
}

}  // namespace tutti::control
