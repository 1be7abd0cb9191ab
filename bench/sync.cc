// sync: an empty launch and cuStreamSynchronize, the server awake, beside the cheapest ways to ask another thread.
#include "driver.h"
#include "raw.h"
#include "report.h"
#include "timing.h"

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  bench::OpenDevice();
  const CUfunction empty = bench::GetFunction(bench::LoadModule(bench::kEmptyKernel), "empty");
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, 1));
  const auto round = [&] {
    bench::Launch(empty, 1, 1, 1, 1, stream);
    CHECK_CU(cuStreamSynchronize(stream));
  };
  bench::TimeEach(2000, round);
  std::vector<double> rounds = bench::TimeEach(20000, round);
  std::vector<double> spins = bench::SpinRoundTrips(20000), sockets = bench::SocketRoundTrips(5000);
  const bench::Statistics sync = bench::Summarize(rounds), spin = bench::Summarize(spins),
                          socket = bench::Summarize(sockets);
  bench::Report report("sync",
                       "ratio: launch + synchronise / what stands beside it; aim: at most 10 spin round trips, well "
                       "under one of the socket");
  report.Add({"launch + synchronise p50", sync.median, "ns", spin.median, "spin round trip p50",
              sync.median / spin.median, sync.spread});
  report.Add({"launch + synchronise p99", sync.p99, "ns", spin.p99, "spin round trip p99", sync.p99 / spin.p99, 0});
  report.Add({"launch + synchronise p50", sync.median, "ns", socket.median, "Unix-socket round trip p50",
              sync.median / socket.median, sync.spread});
  return report.Finish(out);
}
