#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/doctor_checks.h"
#include "cli/subcommands.h"

namespace tutti::cli {
namespace {

template <Finding (*kCheck)(const Patient&)>
std::vector<Finding> One(const Patient& patient) {
  return {kCheck(patient)};
}

constexpr struct {
  const char* name;
  std::vector<Finding> (*ask)(const Patient&);
} kChecks[] = {
    {"programs", One<CheckPrograms>},
    {"loader", One<CheckLoader>},
    {"library", One<CheckLibrary>},
    {"code", CheckCode},
    {"processor", One<CheckProcessor>},
    {"memory_files", One<CheckMemoryFiles>},
    {"descriptors", One<CheckDescriptorLimit>},
    {"disk", One<CheckDisk>},
    {"pipe_directory", One<CheckPipeDirectory>},
    {"daemon", One<CheckDaemon>},
    {"server", One<CheckServer>},
    {"compute_mode", One<CheckComputeMode>},
    {"kernel", One<CheckKernel>},
};

const char* Word(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kOk: return "OK";
    case Finding::Kind::kNote: return "NOTE";
    case Finding::Kind::kProblem: return "PROBLEM";
  }
  return "";
}

void Print(const Finding& finding) {
  std::printf("%-8s %s\n", Word(finding.kind), finding.text.c_str());
  if (!finding.remedy.empty()) std::printf("         -> %s\n", finding.remedy.c_str());
  std::fflush(stdout);
}

nlohmann::json AsJson(const char* check, const Finding& finding) {
  nlohmann::json json{
      {"check", check}, {"result", Word(finding.kind)}, {"text", finding.text}, {"remedy", finding.remedy}};
  if (finding.code) {
    const image::CodeCensus& census = finding.code->census;
    json["code"] = {{"file", finding.code->file},  {"images", census.images},
                    {"with_ptx", census.with_ptx}, {"not_looked_into", census.unseen},
                    {"ptx_for", census.ptx_archs}, {"machine_code_for", census.machine_archs}};
  }
  return json;
}

// All checks run even after a problem, since the first remedy is not always the right one.
int Doctor(const Patient& patient, bool as_json) {
  if (!patient.program.empty() && access(patient.program.c_str(), R_OK) != 0) {
    return Complain("cannot read the program " + patient.program + ": give its path");
  }
  int problems = 0;
  nlohmann::json findings = nlohmann::json::array();
  for (const auto& check : kChecks) {
    for (const Finding& finding : check.ask(patient)) {
      problems += finding.kind == Finding::Kind::kProblem;
      if (as_json) {
        findings.push_back(AsJson(check.name, finding));
      } else if (!finding.text.empty()) {
        Print(finding);
      }
    }
  }
  if (as_json) {
    const nlohmann::json report{{"healthy", problems == 0}, {"findings", findings}};
    std::puts(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace

void AddDoctor(Command& tutti) {
  struct DoctorOptions {
    Patient patient;
    bool json = false;
  };
  Command& doctor = tutti.AddCommand("doctor", "Find out why a program does not reach the service, and what to do");
  const auto options = std::make_shared<DoctorOptions>();
  doctor.AddOption("program", &options->patient.program, "The program to be run: its libraries and code are checked");
  doctor.AddFlag("--service", &options->patient.needs_service,
                 "Count a missing control daemon as a problem: for health checks");
  doctor.AddFlag("--json", &options->json, "As JSON");
  doctor.Do([options] { return Doctor(options->patient, options->json); });
}

}  // namespace tutti::cli
