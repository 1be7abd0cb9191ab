// preempt: time from the launch of a normal client's kernel to its first instruction while blocks of 50 ms of a client
// below normal run on all SMs, beside the same on an idle device.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "load/clients.h"
#include "report.h"

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  bench::Report report("preempt", "launch to first instruction; aim: p99 at most 100 us on an otherwise idle machine");
  bench::SetPolicy("share");
  unsigned long p50[2], p99[2];
  for (const bool busy : {false, true}) {
    std::vector<bench::ClientSpec> specs = {{.arguments = "ping 20 5000"}};
    if (busy) specs.push_back({.arguments = "hog 8 50000 4", .below_normal = true});
    bench::Clients clients(specs);
    clients.Begin();
    clients.SharesOver(seconds);
    if (std::sscanf(clients.End()[0].c_str(), "%lu %lu", &p50[busy], &p99[busy]) != 2) return 1;
  }
  const auto add = [&](const char* name, const unsigned long(&ns)[2]) {
    const double busy_us = static_cast<double>(ns[1]) / 1000, idle_us = static_cast<double>(ns[0]) / 1000;
    report.Add({name, busy_us, "us", idle_us, "idle device", busy_us / idle_us, 0});
  };
  add("first instruction, p50", p50);
  add("first instruction, p99", p99);
  return report.Finish(out);
}
