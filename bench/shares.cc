// shares: the part of the device's time that clients get, beside the part that their percentages ask for. Each client
// always has kernels queued that would fill the whole device. Measured by the server's counters over windows.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "load/clients.h"
#include "report.h"

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
  double errors = 0, clients_in_all = 0;
  for (const auto& percentages : cases) {
    std::vector<bench::ClientSpec> specs;
    for (const double percentage : percentages)
      specs.push_back({.arguments = "hog 64 200 16", .percentage = percentage});
    bench::Clients clients(specs);
    clients.Begin();
    clients.SharesOver(0.3);  // under way
    const auto got = clients.SharesOver(seconds);
    for (size_t i = 0; i < got.size(); ++i) {
      const double asked = percentages[i] / 100;
      errors += std::fabs(got[i] - asked) / asked;
      ++clients_in_all;
      report.Add({fmt::format("{}: client {}", fmt::join(percentages, "/"), i + 1), 100 * got[i], "%", 100 * asked,
                  "asked", got[i] / asked, std::fabs(got[i] - asked)});
    }
  }
  report.Add({"mean absolute error, of what was asked", 100 * errors / clients_in_all, "%", 2, "aim",
              errors / clients_in_all / 0.02, 0});
  return report.Finish(out);
}
