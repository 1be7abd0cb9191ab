// The rules that make decisions of numbers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "frame/evidence.h"
#include "frame/files.h"
#include "frame/probe.h"
#include "probes/probes.h"
#include "sharing/sharing.h"

namespace tutti::gpu {
namespace {

// Rows are written without their braces: R"("probe":"P1","step":"exit","words that differ":0)".
std::string Decide(const Probe& probe, std::initializer_list<std::string> rows) {
  const std::string path = testing::TempDir() + "/decisions." + std::to_string(getpid()) + ".jsonl";
  std::string text;
  for (const std::string& row : rows) text += "{" + row + "}\n";
  WriteFile(path, text);
  const std::string decision = probe.decide(Evidence::Read(path));
  unlink(path.c_str());
  return decision;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Decisions, WithoutNumbersNothingIsDecided) {
  for (const Section& section : Sections()) {
    for (const Probe* probe : section.probes)
      EXPECT_TRUE(Decide(*probe, {}).starts_with("undecided: ")) << probe->id << ": " << Decide(*probe, {});
  }
}

TEST(Decisions, AStepThatDiedIsTheReasonForNoDecision) {
  EXPECT_EQ(
      Decide(kP11, {R"-("probe":"P11","step":"spoil","outcome":"crashed","reason":"signal 11 (Segmentation fault)")-"}),
      "undecided: spoil: signal 11 (Segmentation fault)");
}

TEST(Decisions, MemoryThatIsGoneMeansNoRelocation) {
  EXPECT_TRUE(Has(Decide(kP1, {R"("probe":"P1","step":"exit","words that differ":4)"}), "no relocation"));
  EXPECT_TRUE(
      Has(Decide(kP1, {R"("probe":"P1","step":"exit","words that differ":0)"}), "keeps all memory as descriptors"));
}

constexpr char kQuiet[] =
    R"("sticky":true,"neighbours go on":true,"words that differ":0,"longest since, ms":40,"its next kernel, ms":12)";

TEST(Decisions, RecoveryIsOnIfMemoryIsIntactAndOthersWaitLittle) {
  EXPECT_TRUE(Has(Decide(kP8, {R"("probe":"P8","step":"trap",)" + std::string(kQuiet)}), "recovery is on by default"));
}

TEST(Decisions, WhatAConfinedDriverDoesNotSurviveIsNamed) {
  EXPECT_EQ(Decide(kT6, {R"("probe":"T6","step":"whole","works":true)"}),
            "executors are confined, and the driver works");
  const std::string filter = Decide(kT6, {R"("probe":"T6","step":"whole","outcome":"failed","reason":"it ended")",
                                          R"("probe":"T6","step":"no_filter","works":true)"});
  EXPECT_TRUE(Has(filter, "filter of system calls")) << filter;
  EXPECT_TRUE(Has(filter, "TUTTI_EXECUTORS_UNCONFINED=filter,")) << filter;
}

TEST(Decisions, ADriverThatDoesNotTellExecutorsOfALostContextIsLoud) {
  const std::string row = R"("probe":"P8","step":"trap","calls that say so":"cuCtxSynchronize","calls that do not":)";
  EXPECT_FALSE(Has(Decide(kP8, {row + R"("cuStreamQuery (idle), cuEventCreate, cuEventDestroy")"}), "IsLost"));
  EXPECT_TRUE(
      Has(Decide(kP8, {row + R"("cuStreamQuery (idle), cuEventCreate, cuEventQuery (not recorded), cuEventDestroy")"}),
          "it must ask others, of: cuCtxSynchronize"));
}

TEST(Decisions, OneFaultThatSpoilsMemoryIsEnoughAgainstRecovery) {
  EXPECT_TRUE(Has(
      Decide(
          kP8,
          {R"("probe":"P8","step":"trap",)" + std::string(kQuiet),
           R"("probe":"P8","step":"far_write","sticky":true,"neighbours go on":true,"words that differ":1,"longest since, ms":40,"its next kernel, ms":12)"}),
      "only for clients that opt in"));
}

TEST(Decisions, AFaultThatReachesOthersComesFirst) {
  EXPECT_TRUE(Has(Decide(kP8, {R"("probe":"P8","step":"trap",)" + std::string(kQuiet),
                               R"("probe":"P8","step":"assert","neighbours go on":false)"}),
                  "(assert) reaches other processes"));
}

TEST(Decisions, KernelsThatDidNotFailProveNothing) {
  EXPECT_EQ(
      Decide(
          kP8,
          {R"("probe":"P8","step":"trap","sticky":false,"neighbours go on":true,"words that differ":0,"longest since, ms":4,"its next kernel, ms":1)"}),
      "undecided: no kernel failed");
}

TEST(Decisions, WithoutALookAtMemoryRecoveryIsUndecided) {
  EXPECT_TRUE(
      Decide(
          kP8,
          {R"("probe":"P8","step":"trap","sticky":true,"neighbours go on":true,"longest since, ms":40,"its next kernel, ms":12)"})
          .starts_with("undecided: "));
}

TEST(Decisions, TheArenaIsTheLargestThatAlwaysComes) {
  const auto wish = [](const char* what, int exact) {
    return R"("probe":"P5","step":"before","wish":")" + std::string(what) + R"(","processes":50,"exact":)" +
           std::to_string(exact);
  };
  EXPECT_TRUE(Has(Decide(kP5, {wish("512 GiB at 2", 50), wish("48 TiB at 2", 50), wish("48 TiB at 4", 49)}),
                  "arena: 48 TiB at 2"));
  EXPECT_TRUE(Has(Decide(kP5, {wish("512 GiB at 2", 46), wish("48 TiB at 2", 0)}),
                  "arena: 512 GiB at 2; an executor that got another"));
  EXPECT_TRUE(Has(Decide(kP5, {wish("512 GiB at 2", 0), wish("48 TiB at 2", 0)}), "recovery is off"));
}

TEST(Decisions, AThreadMoreMustBringAQuarterOfWhatOneDoes) {
  const auto rate = [](int submitters, double launches) {
    return R"("probe":"P12","step":"threads","submitters":)" + std::to_string(submitters) + R"(,"launches a second":)" +
           std::to_string(launches);
  };
  EXPECT_TRUE(Has(Decide(kP12, {rate(1, 400e3), rate(2, 420e3), rate(4, 430e3), rate(8, 440e3)}), "executor: 1 "));
  EXPECT_TRUE(Has(Decide(kP12, {rate(1, 400e3), rate(2, 700e3), rate(4, 800e3), rate(8, 800e3)}), "executor: 2 "));
}

TEST(Decisions, AStaleMarkMeansEvents) {
  const std::string good =
      R"("probe":"P14","step":"with_barrier","marks that never came":0,"rounds with words not yet there":)";
  EXPECT_TRUE(Has(Decide(kP14, {good + "0"}), "completion is the mark alone"));
  EXPECT_TRUE(Has(Decide(kP14, {good + "1"}), "told by events"));
}

TEST(Decisions, ALazyLoadThatWaitsMeansEagerLoading) {
  const auto launch = [](const char* step, const char* waited) {
    return R"("probe":"P18","step":")" + std::string(step) +
           R"(","call":"first launch of a kernel","waited for the kernel":)" + waited;
  };
  EXPECT_TRUE(Has(Decide(kP18, {launch("lazy", "true"), launch("eager", "false")}), "loaded eagerly"));
  EXPECT_TRUE(Has(Decide(kP18, {launch("lazy", "false"), launch("eager", "false")}), "lazy loading may stay"));
}

TEST(Decisions, WithoutTheFileTheDeviceFileIsKeptOpen) {
  const auto kept = [](const char* step, bool there) {
    return R"("probe":"P7","step":")" + std::string(step) + R"(","persistence daemon":false,"there":)" +
           (there ? R"(true,"words that differ":0)" : "false");
  };
  EXPECT_TRUE(Has(Decide(kP7, {kept("descriptors_only", true)}), "needs nothing else"));
  EXPECT_TRUE(
      Has(Decide(kP7, {kept("descriptors_only", false), kept("device_file_open", true)}), "opened device file"));
  EXPECT_TRUE(Has(Decide(kP7, {kept("descriptors_only", false), kept("device_file_open", false)}),
                  "standby executor is always kept"));
}

}  // namespace
}  // namespace tutti::gpu
