// fault: how soon a client hears of its own fault, and what the others notice: the throughput of seven busy clients while an
// eighth writes where it may not, ten times a second, beside that of the seven alone.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "load/clients.h"
#include "report.h"

namespace {

constexpr size_t kOthers = 7;

struct Outcome {
  double kernels_per_s = 0;
  double p50_us = 0, p99_us = 0;
};

Outcome Measure(bool with_faults, double seconds) {
  std::vector<bench::ClientSpec> specs(kOthers, {.arguments = "hog 1 200 4"});
  if (with_faults) specs.push_back({.arguments = "fault 100000"});
  bench::Clients clients(specs);
  clients.Begin();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::vector<std::string> outputs = clients.End();
  Outcome outcome;
  for (size_t i = 0; i < kOthers; ++i) outcome.kernels_per_s += std::atof(outputs[i].c_str());
  if (!with_faults) return outcome;
  unsigned long p50_ns = 0, p99_ns = 0;
  if (std::sscanf(outputs[kOthers].c_str(), "%lu %lu", &p50_ns, &p99_ns) != 2) std::exit(1);
  outcome.p50_us = static_cast<double>(p50_ns) / 1000;
  outcome.p99_us = static_cast<double>(p99_ns) / 1000;
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  bench::Report report("fault", "ratio: seven clients beside one that faults every 100 ms / the seven alone; aim: at least 0.98");
  std::vector<double> disturbed, alone, p50, p99;
  for (int repeat = 0; repeat < 3; ++repeat) {
    alone.push_back(Measure(false, seconds).kernels_per_s);
    const Outcome outcome = Measure(true, seconds);
    disturbed.push_back(outcome.kernels_per_s);
    p50.push_back(outcome.p50_us);
    p99.push_back(outcome.p99_us);
  }
  const bench::Statistics with = bench::Summarize(disturbed), without = bench::Summarize(alone), half = bench::Summarize(p50), most = bench::Summarize(p99);
  report.Add({"seven others, kernels of 200 us", with.median, "1/s", without.median, "undisturbed", with.median / without.median, with.spread});
  report.Add({"launch to its error, p50", half.median, "us", 0, "", 0, half.spread});
  report.Add({"launch to its error, p99", most.median, "us", 0, "", 0, most.spread});
  return report.Finish(out);
}
