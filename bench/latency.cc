// latency: a client with one kernel of 50 us per millisecond, alone and beside clients that always have work for the
// whole device, under each policy. Time from the launch to the return of the synchronisation. In turns: what else runs
// on a machine changes from one second to the next.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

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
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));  // nothing else runs that need not
  unsigned long begun_p50, begun_p99, p50, p99;
  if (std::sscanf(clients.End()[0].c_str(), "%lu %lu %lu %lu", &begun_p50, &begun_p99, &p50, &p99) != 4) std::exit(1);
  return {static_cast<double>(p50) / 1000, static_cast<double>(p99) / 1000};
}

struct Case {
  std::string name, policy;
  bench::ClientSpec other;
  // For each turn, in us, and beside those of the client alone in the same turn.
  std::vector<double> p50_us, p99_us, p50_ratios, p99_ratios;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const int turns = argc > 2 ? std::atoi(argv[2]) : 7;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1;
  bench::Report report("latency",
                       "one kernel of 50 us per ms; ratio: beside a client that always has work / alone, median of "
                       "turns; aim: p99 at most 1.3 beside a client below normal");
  const bench::ClientSpec hog{.arguments = "hog 64 200 16"};
  const bench::ClientSpec low{.arguments = "hog 64 200 16", .below_normal = true};
  Case cases[] = {{.name = "beside one below normal, share", .policy = "share", .other = low},
                  {.name = "beside one below normal, priority", .policy = "priority", .other = low},
                  {.name = "beside an equal, share", .policy = "share", .other = hog},
                  {.name = "beside an equal, time_slice", .policy = "time_slice", .other = hog}};
  std::vector<double> alone_p50_us, alone_p99_us;
  for (int turn = 0; turn < turns; ++turn) {
    const Latency alone = Measure("share", {}, seconds);
    alone_p50_us.push_back(alone.p50_us);
    alone_p99_us.push_back(alone.p99_us);
    for (Case& one : cases) {
      const Latency latency = Measure(one.policy, {one.other}, seconds);
      one.p50_us.push_back(latency.p50_us);
      one.p99_us.push_back(latency.p99_us);
      one.p50_ratios.push_back(latency.p50_us / alone.p50_us);
      one.p99_ratios.push_back(latency.p99_us / alone.p99_us);
    }
  }
  bench::SetPolicy("share");
  const double p50_us = bench::Summarize(alone_p50_us).median, p99_us = bench::Summarize(alone_p99_us).median;
  const auto add = [&](const std::string& name, std::vector<double>& us, double alone_us, std::vector<double>& ratios) {
    const bench::Statistics ratio = bench::Summarize(ratios);
    report.Add({name, bench::Summarize(us).median, "us", alone_us, "alone", ratio.median, ratio.spread});
  };
  for (Case& one : cases) {
    add(one.name + ", p50", one.p50_us, p50_us, one.p50_ratios);
    add(one.name + ", p99", one.p99_us, p99_us, one.p99_ratios);
  }
  return report.Finish(out);
}
