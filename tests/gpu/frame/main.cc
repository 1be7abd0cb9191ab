// The program behind `./dev gpu`, and `run` in its bundle.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "command_line/command_line.h"
#include "frame/files.h"
#include "frame/find_driver.h"
#include "frame/page.h"
#include "frame/run.h"

namespace {

constexpr char kExplanation[] = R"(Exit status:
  0    the run is complete (a probe that could not answer says so on the page)
  1    the run itself failed
  2    the command line is wrong
  3    no driver, no GPU, or a driver that does not start
  4    another process has a context on the device (--shared-anyway)
  5    the device is in a compute mode that does not let several processes use it
  6    the device has too little free memory
  7    the results cannot be written
  130  interrupted; the page has the measurements so far
It changes no setting of the card, and takes at most 100 GiB of its memory.)";

std::string KnownParts() {
  std::string names;
  for (const auto& section : tutti::gpu::Sections()) names += (names.empty() ? "" : ", ") + std::string(section.name);
  return names;
}

bool IsPart(const std::string& name) {
  for (const auto& section : tutti::gpu::Sections()) {
    if (section.name == name) return true;
    for (const auto* probe : section.probes) {
      if (probe->id == name) return true;
    }
  }
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace tutti::gpu;
  // How the program starts itself.
  if (count == 3 && std::strcmp(arguments[1], "--step") == 0) return RunStep(arguments[2]);
  if (count == 4 && std::strcmp(arguments[1], "--peer") == 0) return RunPeer(arguments[2], arguments[3]);

  RunPlan plan{.out = "gpu-results"};
  std::string only, page;
  bool find = false;
  tutti::command_line::Command line(
      "run", "Measures what a GPU and its driver really do, and records which decisions of the GPU backend follow.");
  line.Footer(kExplanation);
  line.AddOption("--minutes", &plan.minutes, "How long it may take")
      .Check(tutti::command_line::Range(0.1, 600.0))
      .ShowDefault();
  line.AddOption("--only", &only, "Only these parts, separated by commas: " + KnownParts() + ", or probes (P8)")
      .Placeholder("LIST");
  line.AddOption("--out", &plan.out, "Folder for the results: results.jsonl, results.md, environment.txt, log.tar")
      .Placeholder("DIR")
      .ShowDefault();
  line.AddOption("--vendor", &plan.settings.vendor, "The driver to measure, instead of the one that the loader finds")
      .Placeholder("PATH");
  line.AddOption("--mps-control", &plan.settings.mps,
                 "The nvidia-cuda-mps-control to compare with, instead of the one in the usual places")
      .Placeholder("PATH")
      .Check(tutti::command_line::ExistingFile());
  line.AddFlag("--small", &plan.settings.small, "Small sizes and few rounds: to see that it works, not to measure");
  line.AddFlag("--shared-anyway", &plan.shared_anyway, "Run also if other processes use the device");
  line.AddFlag("--find", &find, "Only print which driver it would take");
  line.AddOption("--page", &page, "Only write the page of these results again, for a run that was killed")
      .Placeholder("DIR");
  if (const auto status = line.Parse(count, arguments)) return *status == 0 ? 0 : static_cast<int>(Verdict::kUsage);
  std::istringstream list(only);
  for (std::string name; std::getline(list, name, ',');) {
    if (!IsPart(name)) {
      std::fprintf(stderr, "gpu: there is no part \"%s\"; there are %s, and the probes\n", name.c_str(),
                   KnownParts().c_str());
      return static_cast<int>(Verdict::kUsage);
    }
    plan.only.insert(name);
  }
  if (find) {
    const FoundDriver found = FindDriver();
    if (found.path.empty() || !HasDeviceFile()) return static_cast<int>(Verdict::kNoDevice);
    std::printf("%s\n", found.path.c_str());
    return 0;
  }
  if (!page.empty()) {
    const Evidence evidence = Evidence::Read(page + "/results.jsonl");
    if (!WriteFile(page + "/results.md", Page(evidence))) {
      std::fprintf(stderr, "gpu: %s/results.md cannot be written\n", page.c_str());
      return static_cast<int>(Verdict::kNoOutput);
    }
    std::printf("%s", Summary(evidence, page).c_str());
    return 0;
  }
  // Processes in other directories use them.
  for (std::string* path : {&plan.settings.vendor, &plan.settings.mps}) {
    char* const real = path->empty() ? nullptr : realpath(path->c_str(), nullptr);
    if (real != nullptr) *path = real;
    std::free(real);
  }
  return static_cast<int>(RunAll(std::move(plan)));
}
