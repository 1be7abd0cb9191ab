// fault: how soon a client learns of its own fault, and what the others notice: the throughput of seven busy clients
// while an eighth makes an illegal write ten times a second, beside that of the same seven while it waits.
//
// The seven are the same processes throughout, and the two cases alternate: a new client first learns how long its
// kernels are, which alone makes several hundredths of a difference.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "load/clients.h"
#include "report.h"

namespace {

constexpr size_t kOthers = 7;
constexpr int kPairs = 12;

class Clients {
 public:
  Clients() : clients_(Specs()) {
    for (size_t i = 0; i < kOthers; ++i) clients_.Tell(i);
  }

  // Kernels per second of the others, over `seconds`.
  double Measure(bool with_faults, double seconds) {
    if (with_faults) clients_.Tell(kOthers);
    Wait(0.1);
    const uint64_t begin_ns = tutti::NowNs(), before = Done();
    Wait(seconds);
    const uint64_t end_ns = tutti::NowNs(), after = Done();
    if (with_faults) clients_.Tell(kOthers);
    return static_cast<double>(after - before) * 1e9 / static_cast<double>(end_ns - begin_ns);
  }

  // Of the times from a launch to its error, the 50th and the 99th percentile in us. They end with it.
  std::pair<double, double> End() {
    const std::vector<std::string> outputs = clients_.End();
    unsigned long p50_ns = 0, p99_ns = 0;
    if (std::sscanf(outputs[kOthers].c_str(), "%lu %lu", &p50_ns, &p99_ns) != 2) std::exit(1);
    return {static_cast<double>(p50_ns) / 1000, static_cast<double>(p99_ns) / 1000};
  }

 private:
  static std::vector<bench::ClientSpec> Specs() {
    std::vector<bench::ClientSpec> specs(kOthers, {.arguments = "hog 1 200 4"});
    specs.push_back({.arguments = "fault 100000"});
    return specs;
  }
  static void Wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
  // Each of their kernels is one block.
  uint64_t Done() const {
    const std::vector<uint64_t> blocks = clients_.Counter("blocks");
    return std::accumulate(blocks.begin(), blocks.begin() + kOthers, uint64_t{0});
  }

  bench::Clients clients_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
  bench::Report report("fault",
                       "ratio: seven clients beside one that faults every 100 ms / the seven alone, median of pairs; "
                       "aim: at least 0.98");
  Clients clients;
  std::vector<double> disturbed, alone, ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    // ABBA order: drift affects both alike.
    for (const bool with_faults : {pair % 2 == 0, pair % 2 != 0})
      (with_faults ? disturbed : alone).push_back(clients.Measure(with_faults, seconds));
    ratios.push_back(disturbed.back() / alone.back());
  }
  const auto [p50_us, p99_us] = clients.End();
  const bench::Statistics with = bench::Summarize(disturbed), without = bench::Summarize(alone),
                          ratio = bench::Summarize(ratios);
  report.Add({"seven others, kernels of 200 us", with.median, "1/s", without.median, "undisturbed", ratio.median,
              ratio.spread});
  report.Add({"launch to its error, p50", p50_us, "us"});
  report.Add({"launch to its error, p99", p99_us, "us"});
  return report.Finish(out);
}
