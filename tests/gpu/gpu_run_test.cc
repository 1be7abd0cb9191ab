// The GPU run without a GPU: on our own library, and on a driver that lies.
//
//   gpu_run_test RUN LIBCUDA LYING_DRIVER CONTROL_PROGRAM
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frame/evidence.h"
#include "frame/files.h"
#include "frame/probe.h"
#include "frame/process.h"
#include "os/fd.h"

namespace tutti::gpu {
namespace {

std::string run_program, our_driver, lying_driver, our_control;

// One run, in a directory of its own and with next to no environment.
class GpuRun : public testing::Test {
 protected:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  GpuRun() {
    std::string path = "/tmp/gpu_run_test.XXXXXX";
    directory_ = mkdtemp(path.data());
    out_ = directory_ + "/out";
  }
  ~GpuRun() override { RemoveTree(directory_); }

  pid_t Start(const std::string& driver, const std::vector<std::string>& options, const Environment& environment = {}) {
    const os::Fd output(open((directory_ + "/output").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    ProcessPlan plan{.arguments = {run_program, "--vendor", driver, "--small"},
                     .environment = environment,
                     .files = {{output.get(), 1}, {output.get(), 2}}};
    plan.environment.emplace_back("TUTTI_GPU_LIE_DRIVER", our_driver);
    plan.environment.emplace_back("TUTTI_CPU_SMS", "4");  // on any machine: some probes need groups of them
    if (std::find(options.begin(), options.end(), "--out") == options.end())
      plan.arguments.insert(plan.arguments.end(), {"--out", out_});
    plan.arguments.insert(plan.arguments.end(), options.begin(), options.end());
    return StartProcess(plan);
  }
  int Run(const std::string& driver, const std::vector<std::string>& options, const Environment& environment = {}) {
    const Ending ending = WaitFor(Start(driver, options, environment), 800);
    return ending.ended && WIFEXITED(ending.status) ? WEXITSTATUS(ending.status) : -1;
  }
  Evidence Results() const { return Evidence::Read(out_ + "/results.jsonl"); }
  std::string Output() const { return ReadFile(directory_ + "/output"); }
  std::string Page() const { return ReadFile(out_ + "/results.md", 4 << 20); }

  // How a step ended; empty: there is no such line, or more than one.
  static const Row* EndingOf(const Evidence& evidence, std::string_view probe, std::string_view step) {
    const Row* ending = nullptr;
    for (const Row* row : evidence.Of(probe, step)) {
      if (row->Text("outcome").empty()) continue;
      if (ending != nullptr) return nullptr;
      ending = row;
    }
    return ending;
  }

  std::string directory_, out_;
};

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST_F(GpuRun, EachStepAnswersOrSaysWhatIsLacking) {
  ASSERT_EQ(Run(our_driver, {"--minutes", "12"}), 0) << Output();
  const Evidence evidence = Results();
  const std::string page = Page();
  size_t probes = 0;
  for (const Section& section : Sections()) {
    for (const Probe* probe : section.probes) {
      ++probes;
      EXPECT_EQ(Count(page, "### " + std::string(probe->id) + ". " + std::string(probe->question)), 1u);
      for (const Step& step : probe->steps) {
        const std::string name = std::string(probe->id) + "/" + std::string(step.name);
        const Row* const ending = EndingOf(evidence, probe->id, step.name);
        ASSERT_NE(ending, nullptr) << name;
        const std::string outcome = ending->Text("outcome");
        EXPECT_TRUE(outcome == "done" || outcome == "lacks")
            << name << ": " << outcome << ": " << ending->Text("reason");
        // Who is done has answered; who is not has said why.
        EXPECT_TRUE(outcome == "lacks" ? !ending->Text("reason").empty() : evidence.Of(probe->id, step.name).size() > 1)
            << name;
      }
    }
  }
  EXPECT_EQ(Count(page, "**Decision:** "), probes);
  // What the driver of this repository has is answered, and decides.
  for (const char* id : {"P8", "P11", "P12", "P16", "P17", "P18", "P21", "P22"})
    EXPECT_TRUE(std::any_of(evidence.rows().begin(), evidence.rows().end(), [&](const Row& row) {
      return row.probe == id && row.Text("outcome") == "done";
    })) << id;
  EXPECT_EQ(FilesIn(out_), (std::vector<std::string>{"environment.txt", "log.tar", "results.jsonl", "results.md"}));
  const std::string output = Output();
  const std::string summary = output.substr(output.rfind("\n\n") + 2);
  EXPECT_LE(Count(summary, "\n"), 40u);
  EXPECT_NE(summary.find("\nP8: "), std::string::npos) << summary;
}

TEST_F(GpuRun, ProgramsUnderTuttiComputeWhatTheyShouldInEachPolicy) {
  ASSERT_EQ(Run(our_driver, {"--only", "T1"}), 0) << Output();
  const Evidence evidence = Results();
  for (const char* policy : {"process", "trusted", "fenced"}) {
    const Row* const ending = EndingOf(evidence, "T1", policy);
    ASSERT_NE(ending, nullptr) << policy;
    EXPECT_EQ(ending->Text("outcome"), "done") << policy << ": " << ending->Text("reason");
    size_t programs = 0;
    for (const Row* row : evidence.Of("T1", policy)) {
      if (!row->Number("processes")) continue;
      ++programs;
      EXPECT_EQ(row->Number("words that are wrong"), 0.0) << policy;
    }
    EXPECT_EQ(programs, 4u) << policy;
  }
}

TEST_F(GpuRun, TexturesUnderTuttiReadWhatTheyShould) {
  ASSERT_EQ(Run(our_driver, {"--only", "T5"}), 0) << Output();
  const Evidence evidence = Results();
  for (const char* policy : {"process", "trusted"}) {
    const auto rows = evidence.Of("T5", policy);
    ASSERT_EQ(rows.size(), 2u) << policy << ": " << evidence.Text("T5", policy, "reason");
    EXPECT_EQ(rows[0]->Number("words that are wrong"), 0.0) << policy;
  }
}

TEST_F(GpuRun, ProgramsUnderTuttiOutliveTheirExecutors) {
  ASSERT_EQ(Run(our_driver, {"--only", "T4"}), 0) << Output();
  const Evidence evidence = Results();
  for (const char* policy : {"process", "trusted"}) {
    const auto rows = evidence.Of("T4", policy);
    ASSERT_EQ(rows.size(), 2u) << policy << ": " << evidence.Text("T4", policy, "reason");
    EXPECT_GE(rows[0]->Number("executors killed"), 3.0) << policy;
    EXPECT_EQ(rows[0]->Number("results"), 6.0) << policy;
    EXPECT_EQ(rows[0]->Number("words that are wrong"), 0.0) << policy;
  }
}

TEST_F(GpuRun, AnInterruptedRunHasItsLinesAndItsPage) {
  const pid_t run = Start(our_driver, {"--only", "P17,P18"});
  while (Results().Of("P17").empty() && kill(run, 0) == 0) usleep(5'000);
  kill(run, SIGTERM);
  const Ending ending = WaitFor(run, 30);
  ASSERT_TRUE(ending.ended);
  EXPECT_EQ(WEXITSTATUS(ending.status), 130);
  EXPECT_FALSE(Results().Of("P17").empty());
  EXPECT_NE(EndingOf(Results(), "P18", "lazy"), nullptr);
  EXPECT_NE(Page().find("### P17."), std::string::npos);
  EXPECT_NE(Page().find("the run was interrupted"), std::string::npos);
}

TEST_F(GpuRun, AKilledRunHasItsLinesOfWhichThePageIsMadeLater) {
  const pid_t run = Start(our_driver, {"--only", "P17,P18"});
  while (Results().Of("P17").empty() && kill(run, 0) == 0) usleep(5'000);
  kill(run, SIGKILL);
  ASSERT_TRUE(WaitFor(run, 10).ended);
  ASSERT_FALSE(Results().Of("P17").empty());
  EXPECT_EQ(Page(), "");
  const pid_t again = StartProcess({.arguments = {run_program, "--page", out_}, .environment = {}, .files = {}});
  EXPECT_EQ(WaitFor(again, 10).status, 0);
  EXPECT_NE(Page().find("### P17."), std::string::npos);
}

TEST_F(GpuRun, ACallThatFailsIsNamedAndTheNextStepRuns) {
  ASSERT_EQ(Run(lying_driver, {"--only", "P11,P22"}, {{"TUTTI_GPU_LIE", "cuCtxCreate_v2=fail:2"}}), 0) << Output();
  const Evidence evidence = Results();
  EXPECT_EQ(evidence.Text("P11", "spoil", "reason"), "cuCtxCreate_v2: CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(evidence.Text("P11", "spoil", "outcome"), "failed");
  EXPECT_NE(Page().find("**Decision:** undecided: spoil: cuCtxCreate_v2: CUDA_ERROR_OUT_OF_MEMORY (2)"),
            std::string::npos)
      << Page();
  EXPECT_EQ(EndingOf(evidence, "P22", "fill")->Text("outcome"), "done");
}

TEST_F(GpuRun, ACallThatDoesNotReturnIsNamedWhenItsTimeIsOver) {
  ASSERT_EQ(Run(lying_driver, {"--only", "P11", "--minutes", "0.25"}, {{"TUTTI_GPU_LIE", "cuCtxCreate_v2=hang"}}), 0)
      << Output();
  const Row ending = *EndingOf(Results(), "P11", "spoil");
  EXPECT_EQ(ending.Text("outcome"), "killed");
  EXPECT_NE(ending.Text("reason").find("inside cuCtxCreate_v2"), std::string::npos) << ending.Text("reason");
  EXPECT_NE(Page().find("### P11."), std::string::npos);
}

TEST_F(GpuRun, ADriverThatEndsItsProcessIsSaidToHave) {
  ASSERT_EQ(Run(lying_driver, {"--only", "P11,P22"}, {{"TUTTI_GPU_LIE", "cuCtxCreate_v2=exit:9"}}), 0) << Output();
  const Row ending = *EndingOf(Results(), "P11", "spoil");
  EXPECT_EQ(ending.Text("outcome"), "crashed");
  EXPECT_EQ(ending.Text("reason"), "exit status 9, inside cuCtxCreate_v2");
  EXPECT_EQ(EndingOf(Results(), "P22", "fill")->Text("outcome"), "done");
}

TEST_F(GpuRun, WhatAPeerCouldNotDoIsSaidByItsStep) {
  ASSERT_EQ(Run(lying_driver, {"--only", "P8"}, {{"TUTTI_GPU_LIE", "cuStreamCreate=fail:304"}}), 0) << Output();
  EXPECT_EQ(EndingOf(Results(), "P8", "far_read")->Text("reason"),
            "bystander: cuStreamCreate: CUDA_ERROR_OPERATING_SYSTEM (304)");
}

// As the bundle is used: copied, by another user, with no environment at all.
TEST_F(GpuRun, ACopyElsewhereRunsForAnybody) {
  if (getuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const std::string copy = directory_ + "/elsewhere", from = run_program.substr(0, run_program.rfind('/'));
  std::filesystem::copy(from, copy, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  const auto as_nobody = [](std::vector<std::string> command) {
    command.insert(command.begin(), {FindProgram("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups",
                                     FindProgram("env"), "-i"});
    const Ending ending = WaitFor(StartProcess({.arguments = std::move(command), .environment = {}, .files = {}}), 300);
    return ending.ended && ending.status == 0;
  };
  if (!as_nobody({FindProgram("test"), "-r", our_driver})) GTEST_SKIP() << our_driver << " is not for everybody";
  ASSERT_TRUE(as_nobody({copy + "/run", "--small", "--vendor", our_driver, "--only", "P20", "--out", out_}));
  for (const char* step : {"jit", "link", "features"})
    EXPECT_EQ(EndingOf(Results(), "P20", step)->Text("outcome"), "done") << step;
}

// Our control daemon in the place of NVIDIA's.
TEST_F(GpuRun, StepsUnderMpsRunBesideADaemonOfTheirOwn) {
  ASSERT_EQ(Run(our_driver, {"--mps-control", our_control, "--only", "P23,S1"}), 0) << Output();
  const Evidence evidence = Results();
  for (const char* step : {"fault_far_write", "fault_trap", "terminate"}) {
    const Row* const ending = EndingOf(evidence, "P23", step);
    ASSERT_NE(ending, nullptr) << step;
    EXPECT_EQ(ending->Text("outcome"), "done") << step << ": " << ending->Text("reason");
  }
  EXPECT_EQ(evidence.Truth("P23", "fault_trap", "other client lives"), true);
  EXPECT_EQ(evidence.Truth("P23", "fault_trap", "who is outside lives"), true);
  EXPECT_EQ(evidence.Truth("P23", "terminate", "ended early"), true);
  EXPECT_EQ(evidence.Truth("P23", "terminate", "other client lives"), true);
  EXPECT_EQ(EndingOf(evidence, "S1", "mps")->Text("outcome"), "done");
  int importers = 0;
  for (const Row* const row : evidence.Of("P23", "share")) {
    const auto shared = row->Truth("shared");
    if (!shared) continue;  // the step's end
    EXPECT_EQ(*shared, row->Text("importer") == "a client of MPS") << "servers share nothing";
    ++importers;
  }
  EXPECT_EQ(importers, 2);
  EXPECT_NE(Page().find("memory cannot be shared with it"), std::string::npos);
}

TEST_F(GpuRun, NoDriverIsALine) {
  EXPECT_EQ(Run("/nowhere/libcuda.so.1", {}), 3);
  EXPECT_EQ(Output(), "gpu: /nowhere/libcuda.so.1: No such file or directory\n");
}

TEST_F(GpuRun, AFileThatIsNoDriverIsALine) {
  EXPECT_EQ(Run("/etc/passwd", {}), 3);
  EXPECT_NE(Output().find("gpu: the driver cannot be opened: "), std::string::npos) << Output();
}

TEST_F(GpuRun, ADriverThatDoesNotStartIsALine) {
  EXPECT_EQ(Run(lying_driver, {}, {{"TUTTI_GPU_LIE", "cuInit=fail:999"}}), 3);
  EXPECT_NE(Output().find("does not start: cuInit: CUDA_ERROR_UNKNOWN (999)"), std::string::npos) << Output();
  EXPECT_EQ(FilesIn(out_), (std::vector<std::string>{"environment.txt", "log.tar", "results.jsonl", "results.md"}));
}

TEST_F(GpuRun, ADriverThatHangsAtOnceIsALine) {
  EXPECT_EQ(Run(lying_driver, {"--minutes", "0.2"}, {{"TUTTI_GPU_LIE", "cuInit=hang"}}), 3);
  EXPECT_NE(Output().find("inside cuInit"), std::string::npos) << Output();
}

TEST_F(GpuRun, AnExclusiveCardIsALine) {
  EXPECT_EQ(Run(lying_driver, {}, {{"TUTTI_GPU_LIE", "cuDeviceGetAttribute=answer:3"}}), 5);
  EXPECT_NE(Output().find("is in compute mode exclusive process"), std::string::npos) << Output();
}

TEST_F(GpuRun, AFullCardIsALine) {
  EXPECT_EQ(Run(lying_driver, {}, {{"TUTTI_GPU_LIE", "cuMemGetInfo_v2=answer:1048576"}}), 6);
  EXPECT_NE(Output().find("is full: 1 MiB are free"), std::string::npos) << Output();
  EXPECT_EQ(Run(lying_driver, {}, {{"TUTTI_GPU_LIE", "cuDevicePrimaryCtxRetain=fail:2"}}), 6);
  EXPECT_NE(Output().find("is full: no context can be made"), std::string::npos) << Output();
}

TEST_F(GpuRun, ACardThatSomebodyUsesIsALineUnlessItIsAllowed) {
  const std::string folder = lying_driver.substr(0, lying_driver.rfind('/')) + "/management";
  EXPECT_EQ(Run(lying_driver, {"--only", "P11"}, {{"LD_LIBRARY_PATH", folder}}), 4);
  EXPECT_NE(Output().find("is in use by 1 process (4242)"), std::string::npos) << Output();
  EXPECT_EQ(Run(lying_driver, {"--only", "P11", "--shared-anyway"}, {{"LD_LIBRARY_PATH", folder}}), 0) << Output();
}

TEST_F(GpuRun, ResultsThatCannotBeWrittenAreALine) {
  EXPECT_EQ(Run(our_driver, {"--out", "/proc/nowhere"}), 7);
  EXPECT_EQ(Output(), "gpu: the results cannot be written: /proc/nowhere/results.jsonl: No such file or directory\n");
}

TEST_F(GpuRun, EarlierResultsKeepAName) {
  ASSERT_EQ(Run(our_driver, {"--only", "P11"}), 0);
  ASSERT_EQ(Run(our_driver, {"--only", "P22"}), 0);
  EXPECT_FALSE(Evidence::Read(out_ + "/results-before.jsonl").Of("P11").empty());
  EXPECT_TRUE(Results().Of("P11").empty());
}

TEST_F(GpuRun, APartThatThereIsNotIsALine) {
  EXPECT_EQ(Run(our_driver, {"--only", "P99"}), 2);
  EXPECT_NE(Output().find("there is no part \"P99\""), std::string::npos);
}

}  // namespace
}  // namespace tutti::gpu

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count != 5) return 2;
  tutti::gpu::run_program = arguments[1];
  tutti::gpu::our_driver = arguments[2];
  tutti::gpu::lying_driver = arguments[3];
  tutti::gpu::our_control = arguments[4];
  return RUN_ALL_TESTS();
}
