// fair: eight clients with equal percentages and kernels from 10 us to 50 ms. Jain's index of their device times is 1
// if all are equal, 1/8 if one has all. The server's counters measure it.
#include <fmt/format.h>

#include <cstdlib>

#include "load/clients.h"
#include "report.h"

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  bench::Report report("fair", fmt::format("device time of eight equal clients over {:g} s, beside an equal part of "
                                           "what all got; aim: Jain's index at least 0.99",
                                           seconds));
  const double lengths_us[] = {10, 30, 100, 300, 1000, 3000, 10'000, 50'000};
  bench::SetPolicy("share");
  std::vector<bench::ClientSpec> specs;
  for (const double us : lengths_us)
    specs.push_back({.arguments = fmt::format("hog 1 {} {}", us, us < 1000 ? 256 : 16)});
  bench::Clients clients(specs);
  clients.Begin();
  clients.SharesOver(0.3);
  const auto got = clients.SharesOver(seconds);
  double sum = 0, squares = 0;
  for (const double share : got) {
    sum += share;
    squares += share * share;
  }
  const auto count = static_cast<double>(got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    report.Add({fmt::format("kernels of {:g} us", lengths_us[i]), 100 * got[i], "%", 100 * sum / count, "equal part",
                got[i] * count / sum, 0});
  }
  const double jain = sum * sum / (count * squares);
  report.Add({"Jain's index", jain, "", 0.99, "aim", jain / 0.99, 0});
  return report.Finish(out);
}
