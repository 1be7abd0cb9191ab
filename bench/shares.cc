// shares: the part of the device's time that clients get, beside the part that their percentages ask for. Each client
// always has kernels queued that would fill the whole device. Measured by the server's counters over windows.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "load/bare.h"
#include "load/clients.h"
#include "report.h"

namespace {

// Relative to what was asked.
struct Errors {
  double sum = 0;
  size_t count = 0;
  double Mean() const { return 100 * sum / static_cast<double>(count); }
};

constexpr uint64_t kBlocks = 64, kBlockUs = 200;

std::string Hog() { return fmt::format("hog {} {} 16", kBlocks, kBlockUs); }

// `first_user`: each client is another user from that on; 0: all are the caller.
void Measure(const std::vector<double>& percentages, uint32_t first_user, double seconds, bench::Report& report,
             Errors& errors) {
  std::vector<bench::ClientSpec> specs;
  for (const double percentage : percentages) {
    specs.push_back({.arguments = Hog(), .percentage = percentage});
    if (first_user != 0) specs.back().uid = first_user + static_cast<uint32_t>(specs.size());
  }
  bench::Clients clients(specs);
  clients.Begin();
  clients.SharesOver(0.3);  // under way
  const auto got = clients.SharesOver(seconds);
  for (size_t i = 0; i < got.size(); ++i) {
    const double asked = percentages[i] / 100;
    errors.sum += std::fabs(got[i] - asked) / asked;
    ++errors.count;
    report.Add({fmt::format("{}: {} {}", fmt::join(percentages, "/"), first_user == 0 ? "client" : "user", i + 1),
                100 * got[i], "%", 100 * asked, "asked", got[i] / asked, std::fabs(got[i] - asked)});
  }
}

// What is lost since grids leave cores to the system for moments, and clients need cores, too, is lost here as well.
void MeasureBare(const std::vector<double>& percentages, double seconds, bench::Report& report, Errors& errors) {
  const auto got = bench::BareSharesOver(seconds, percentages, kBlocks, kBlockUs);
  for (size_t i = 0; i < got.size(); ++i) {
    const double asked = percentages[i] / 100;
    errors.sum += std::fabs(got[i] - asked) / asked;
    ++errors.count;
    report.Add({fmt::format("{}: plain process {}", fmt::join(percentages, "/"), i + 1), 100 * got[i], "%", 100 * asked,
                "asked", got[i] / asked, std::fabs(got[i] - asked)});
  }
}

// Two users' clients, of which the second one's is below normal priority.
void MeasurePriorities(uint32_t first_user, double seconds, bench::Report& report) {
  bench::Clients clients(
      {{.arguments = Hog(), .uid = first_user}, {.arguments = Hog(), .below_normal = true, .uid = first_user + 1}});
  clients.Begin();
  clients.SharesOver(0.3);
  const auto got = clients.SharesOver(seconds);
  report.Add({"user 1, normal, beside one below normal", 100 * got[0], "%", 100, "asked", got[0], 1 - got[0]});
  report.Add({"user 2, below normal", 100 * got[1], "%", 0, "asked", 0, got[1]});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  bench::Report report("shares",
                       fmt::format("part of the device's time over {:g} s, beside the part asked for; ratio: got / "
                                   "asked; spread: error in points of the device; aim: mean absolute error at most 2%",
                                   seconds));
  const std::vector<std::vector<double>> cases = {
      {30, 70}, {50, 50}, {10, 90}, {20, 30, 50}, {12, 12, 12, 12, 12, 12, 12, 12}};
  bench::SetPolicy("share");
  Errors within, between, bare;
  for (const auto& percentages : cases) Measure(percentages, 0, seconds, report, within);
  report.Add({"mean absolute error, of what was asked", within.Mean(), "%", 2, "aim", within.Mean() / 2, 0});
  // Each with a server of its own.
  if (bench::MayBeOthers()) {
    constexpr uint32_t kFirstUser = 60001;
    for (const auto& percentages : {std::vector<double>{30, 70}, {50, 50}, {20, 40}}) {
      Measure(percentages, kFirstUser, seconds, report, between);
      MeasureBare(percentages, seconds, report, bare);
    }
    MeasurePriorities(kFirstUser, seconds, report);
    report.Add({"between users: mean absolute error", between.Mean(), "%", 2, "aim", between.Mean() / 2, 0});
    report.Add({"between plain processes", bare.Mean(), "%", 2, "aim", bare.Mean() / 2, 0});
  }
  return report.Finish(out);
}
