// scheduler: the CPU device's scheduler on more SMs than this machine has cores: the real one, driven in simulated time
// (device/cpu/testing/many_sms.h), with the lock held for as long as each call takes here. Reference: the decisions
// that the SMs would take if the lock cost nothing.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "device/cpu/testing/many_sms.h"
#include "report.h"

namespace {

using tutti::device::cpu::MadeUpClient;
using tutti::device::cpu::ManySms;
using tutti::device::cpu::ManySmsResult;

constexpr uint64_t kMs = 1'000'000;
// A word that another core has written: what a line costs between the cores of one socket, about, for the lock's and
// two of what it guards. Assumed: this machine has two cores.
constexpr uint64_t kHandoffNs = 150;

// Clients that always have work, of blocks of 5 to 160 us.
std::vector<MadeUpClient> Busy(uint32_t sms, uint32_t count) {
  std::vector<MadeUpClient> clients;
  for (uint32_t i = 0; i < count; ++i)
    clients.push_back(
        {.blocks = 16 * uint64_t{sms}, .block_ns = count == 1 ? 20'000 : 5'000ull << i % 6, .any_order = true});
  return clients;
}

double MeanError(const ManySmsResult& result) {
  const auto count = static_cast<double>(result.client_ns.size());
  const double mean = static_cast<double>(result.busy_ns) / count;
  double error = 0;
  for (const uint64_t ns : result.client_ns) error += std::abs(static_cast<double>(ns) - mean) / mean;
  return error / count;
}

void Measure(bench::Report& report, uint32_t sms, uint32_t count) {
  // For long enough that each client has had its turn often.
  const uint64_t turns_ns = 40 * uint64_t{count} * 160'000 / sms;
  const uint64_t ns = std::clamp<uint64_t>(turns_ns, 50 * kMs, 1000 * kMs);
  ManySms device(sms, Busy(sms, count), {.handoff_ns = kHandoffNs});
  const ManySmsResult result = device.Run(20 * kMs, ns);
  const std::string name = fmt::format("{} SMs, {} client{}", sms, count, count == 1 ? "" : "s");
  const auto of_time = [&](uint64_t part_ns) {
    return 100 * static_cast<double>(part_ns) / static_cast<double>(result.ns);
  };
  const double busy = of_time(result.busy_ns) / sms;
  const double rate = static_cast<double>(result.decisions) * 1e9 / static_cast<double>(result.ns);
  report.Add({name + ": decisions", rate, "1/s", rate * 100 / busy, "without a lock", busy / 100, 0});
  report.Add({name + ": time in which the lock is held", of_time(result.held_ns), "%", 50, "aim: at most",
              of_time(result.held_ns) / 50, 0});
  report.Add({name + ": a call has the lock for",
              static_cast<double>(result.held_ns) / static_cast<double>(result.calls), "ns", 0,
              fmt::format("and waits for it {:.0f} ns",
                          static_cast<double>(result.waited_ns) / static_cast<double>(result.calls)),
              0, 0});
  if (count > 1) {
    const double error = 100 * MeanError(result);
    report.Add({name + ": mean error of the shares", error, "%", 2, "aim: at most", error / 2, 0});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  bench::Report report(
      "scheduler",
      fmt::format("the scheduler in simulated time, by one thread: SMs, wake-ups and signals are made up; how long a "
                  "call holds the lock is measured, and {} ns are added for handing it to another core (assumed). "
                  "Clients always have work: grids of 16 blocks for each SM, which take 5 to 160 us (one client's: 20 "
                  "us). Decisions: blocks, "
                  "or runs of them, given to an SM. Ratio: part of the time in which SMs have blocks",
                  kHandoffNs));
  for (const uint32_t sms : {8u, 16u, 64u, 256u, 512u}) {
    for (const uint32_t clients : {1u, 64u, 4096u}) Measure(report, sms, clients);
  }
  return report.Finish(out);
}
