// overhead: kernels per second of one client with a limit that does not bind (99.9% of the device, enforced in time)
// beside the same without a limit. Alternating, so that changes of the machine's speed affect both.
#include <fmt/format.h>

#include <cstdlib>

#include "load/clients.h"
#include "report.h"

namespace {

double KernelsPerSecond(const std::string& load, double percentage, double seconds) {
  bench::Clients clients({{.arguments = load, .percentage = percentage}});
  clients.Begin();
  clients.SharesOver(seconds);
  return std::atof(clients.End()[0].c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  bench::Report report(
      "overhead",
      "kernels per second under a limit of 99.9% beside none; aim: at least 0.99 (0.1% of it is the limit itself)");
  bench::SetPolicy("share");
  for (const auto& [name, load] :
       {std::pair{"kernels of 20 us", "hog 1 20 256"}, std::pair{"64 blocks of 100 us", "hog 64 100 16"}}) {
    std::vector<double> with, without;
    for (int repeat = 0; repeat < 5; ++repeat) {
      without.push_back(KernelsPerSecond(load, 100, seconds));
      with.push_back(KernelsPerSecond(load, 99.9, seconds));
    }
    const bench::Statistics limited = bench::Summarize(with), free = bench::Summarize(without);
    report.Add({name, limited.median, "1/s", free.median, "no limit", limited.median / free.median, limited.spread});
  }
  return report.Finish(out);
}
