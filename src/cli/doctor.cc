#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/doctor_checks.h"
#include "cli/subcommands.h"

namespace tutti::cli {
namespace {

const char* Word(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kOk: return "OK";
    case Finding::Kind::kNote: return "NOTE";
    case Finding::Kind::kProblem: return "PROBLEM";
  }
  return "";
}

// All checks are made even after a problem: the first remedy is not always the one that is needed.
int Doctor() {
  int problems = 0;
  for (const auto check : {CheckPrograms, CheckLoaderPath, CheckLibrary, CheckProcessor, CheckMemoryFiles, CheckDescriptorLimit,
                           CheckPipeDirectory, CheckDaemon, CheckServer, CheckKernel}) {
    const Finding finding = check();
    std::printf("%-8s %s\n", Word(finding.kind), finding.text.c_str());
    if (!finding.remedy.empty()) std::printf("         -> %s\n", finding.remedy.c_str());
    std::fflush(stdout);
    problems += finding.kind == Finding::Kind::kProblem;
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace

void AddDoctor(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("doctor", "Check this installation and say what to mend");
  command->callback([&status] { status = Doctor(); });
}

}  // namespace tutti::cli
