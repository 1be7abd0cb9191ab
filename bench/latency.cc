// latency: a client with one kernel of 50 us per millisecond, alone and beside clients that always have work for the
// whole device, under each policy. Time from the launch to the return of the synchronisation.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "load/clients.h"
#include "report.h"

namespace {

struct Latency {
  double p50_us, p99_us;
};

Latency Measure(const std::string& policy, const std::vector<bench::ClientSpec>& others, double seconds) {
  bench::SetPolicy(policy);
  std::vector<bench::ClientSpec> specs = {{.arguments = "ping 50 1000"}};
  specs.insert(specs.end(), others.begin(), others.end());
  bench::Clients clients(specs);
  clients.Begin();
  clients.SharesOver(seconds);
  unsigned long begun_p50, begun_p99, p50, p99;
  if (std::sscanf(clients.End()[0].c_str(), "%lu %lu %lu %lu", &begun_p50, &begun_p99, &p50, &p99) != 4) std::exit(1);
  return {static_cast<double>(p50) / 1000, static_cast<double>(p99) / 1000};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  bench::Report report("latency",
                       "one kernel of 50 us per ms; ratio: beside a client that always has work / alone; aim: p99 at "
                       "most 1.3 beside a client below normal");
  const bench::ClientSpec hog{.arguments = "hog 64 200 16"};
  const bench::ClientSpec low{.arguments = "hog 64 200 16", .below_normal = true};
  const Latency alone = Measure("share", {}, seconds);
  struct Case {
    std::string name, policy;
    bench::ClientSpec other;
  };
  for (const Case& one :
       {Case{"beside one below normal, share", "share", low},
        Case{"beside one below normal, priority", "priority", low}, Case{"beside an equal, share", "share", hog},
        Case{"beside an equal, time_slice", "time_slice", hog}}) {
    const Latency latency = Measure(one.policy, {one.other}, seconds);
    report.Add({one.name + ", p50", latency.p50_us, "us", alone.p50_us, "alone", latency.p50_us / alone.p50_us, 0});
    report.Add({one.name + ", p99", latency.p99_us, "us", alone.p99_us, "alone", latency.p99_us / alone.p99_us, 0});
  }
  bench::SetPolicy("share");
  return report.Finish(out);
}
