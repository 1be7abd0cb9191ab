// Which libcuda.so.1 a program gets. The dynamic loader takes the first of: LD_PRELOAD, the DT_RPATH of the program
// (only if it has no DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH, the cache that ldconfig makes, the standard directories.
// This follows the same order, so that the finding can say which of them decided; for the last two it asks the loader
// itself.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <filesystem>

#include "cli/doctor_checks.h"
#include "cli/elf_file.h"
#include "cli/installation.h"
#include "os/program.h"

namespace tutti::cli {
namespace {

constexpr const char* kName = "libcuda.so.1";

struct Found {
  std::string path;  // empty: none is found
  std::string why;
};

std::vector<std::string> Split(std::string text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(":; "), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.erase(0, std::min(end + 1, text.size()));
  }
  return parts;
}

std::string FirstWithLibrary(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    const std::string path = directory + "/" + kName;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

// What the loader itself chooses if nothing else decides. Correct only while this process has loaded no libcuda.
std::string FromCache() {
  void* const library = dlopen(kName, RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return map->l_name;
}

Found Look(const Patient& patient) {
  for (const std::string& library : Split(os::Environment("LD_PRELOAD"))) {
    if (std::filesystem::path(library).filename() == kName) return {library, "LD_PRELOAD names it"};
  }
  Result<ElfFile> program = patient.program.empty() ? Fail("") : ElfFile::Read(patient.program);
  const auto runpath = program ? program->runpath() : std::vector<std::string>();
  if (program && runpath.empty()) {
    if (const auto path = FirstWithLibrary(program->rpath()); !path.empty())
      return {path, "its RPATH was linked into the program"};
  }
  if (const auto path = FirstWithLibrary(Split(os::Environment("LD_LIBRARY_PATH"))); !path.empty()) {
    return {path, "LD_LIBRARY_PATH names its directory"};
  }
  if (const auto path = FirstWithLibrary(runpath); !path.empty())
    return {path, "its RUNPATH was linked into the program"};
  return {FromCache(), "it is the one in the loader's cache (ldconfig)"};
}

bool IsOurs(const std::string& path) {
  const auto ours = LibraryDirectory();
  std::error_code error;
  return ours && std::filesystem::equivalent(path, *ours + "/" + kName, error);
}

std::string Remedy(const Found& found) {
  if (found.why.starts_with("LD_PRELOAD")) return "unset LD_PRELOAD";
  // It precedes LD_LIBRARY_PATH, which `tutti run` sets.
  if (found.why.starts_with("its RPATH"))
    return "LD_PRELOAD=" + LibraryDirectory().value_or("OUR-DIRECTORY") + "/" + kName +
           " PROGRAM, or link it with --enable-new-dtags";
  return "start it with: tutti run -- PROGRAM";
}

}  // namespace

Finding CheckLoader(const Patient& patient) {
  const std::string who = patient.program.empty() ? "programs started from here" : patient.program;
  const Found found = Look(patient);
  if (found.path.empty())
    return {Finding::Kind::kProblem, fmt::format("{}: the loader finds no {}", who, kName), Remedy(found)};
  const std::string text = fmt::format("{}: {} is loaded, because {}", who, found.path, found.why);
  if (IsOurs(found.path)) return {.text = text};
  return {Finding::Kind::kProblem, text + "; it is not ours", Remedy(found)};
}

}  // namespace tutti::cli
