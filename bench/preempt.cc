// preempt: time from the launch of a normal client's kernel to its first instruction while blocks of 50 ms of a client
// below normal run on all SMs, beside the same on an idle device, and beside what the machine needs for such wakes
// without a device. In turns: what else runs on a machine changes from one second to the next.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "load/bare_preemption.h"
#include "load/clients.h"
#include "report.h"

namespace {

struct Times {
  double p50_us, p99_us;
};

// One per turn.
struct Turns {
  std::vector<double> p50_us, p99_us;
  void Add(const Times& times) {
    p50_us.push_back(times.p50_us);
    p99_us.push_back(times.p99_us);
  }
};

Times Preemptions(bool busy, double seconds) {
  std::vector<bench::ClientSpec> specs = {{.arguments = "ping 20 5000"}};
  if (busy) specs.push_back({.arguments = "hog 8 50000 4", .below_normal = true});
  bench::Clients clients(specs);
  clients.Begin();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));  // nothing else runs that need not
  unsigned long p50, p99;
  if (std::sscanf(clients.End()[0].c_str(), "%lu %lu", &p50, &p99) != 2) std::exit(1);
  return {static_cast<double>(p50) / 1000, static_cast<double>(p99) / 1000};
}

Times BarePreemptions(double seconds) {
  const std::vector<uint64_t> ns = bench::BarePreemptionsOver(seconds, 5000);
  const size_t last = ns.size() - 1;
  return {static_cast<double>(ns[last / 2]) / 1000, static_cast<double>(ns[last * 99 / 100]) / 1000};
}

void Add(bench::Report& report, const char* name, std::vector<double>& busy, std::vector<double>& idle,
         std::vector<double>& bare) {
  const bench::Statistics ours = bench::Summarize(busy);
  const auto beside = [&](const char* other_name, std::vector<double>& other) {
    const double other_us = bench::Summarize(other).median;
    report.Add({name, ours.median, "us", other_us, other_name, ours.median / other_us, ours.spread});
  };
  beside("idle device", idle);
  beside("the same wakes without a device", bare);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const int turns = argc > 2 ? std::atoi(argv[2]) : 7;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 2;
  bench::Report report("preempt",
                       "launch to first instruction, medians of turns; aim: p99 at most 100 us on an otherwise idle "
                       "machine");
  bench::SetPolicy("share");
  Turns idle, busy, bare;
  for (int turn = 0; turn < turns; ++turn) {
    bare.Add(BarePreemptions(seconds));
    idle.Add(Preemptions(false, seconds));
    busy.Add(Preemptions(true, seconds));
  }
  Add(report, "first instruction, p50", busy.p50_us, idle.p50_us, bare.p50_us);
  Add(report, "first instruction, p99", busy.p99_us, idle.p99_us, bare.p99_us);
  return report.Finish(out);
}
