// copy: synchronous copies to and from the device, pageable and pinned. Reference: memcpy between two ordinary buffers.
#include <fmt/format.h>

#include <cstring>

#include "driver.h"
#include "report.h"
#include "timing.h"

namespace {

double GibPerSecond(size_t bytes, double ns) { return static_cast<double>(bytes) / ns * 1e9 / (1 << 30); }

std::string SizeName(size_t bytes) {
  return bytes >= (1 << 20) ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  bench::OpenDevice();
  bench::Report report("copy", "ratio: copy / memcpy; aim: at least 0.95 from 1 MiB up");
  for (size_t bytes = 4 << 10; bytes <= (256u << 20); bytes *= 4) {
    std::vector<char> source(bytes, 1), destination(bytes, 2);
    void* pinned;
    CUdeviceptr device;
    CHECK_CU(cuMemAllocHost_v2(&pinned, bytes));
    CHECK_CU(cuMemAlloc_v2(&device, bytes));
    std::memset(pinned, 3, bytes);
    const size_t repeats = std::max<size_t>(7, std::min<size_t>(2000, (256u << 20) / bytes));
    // Interleaved, so that all see the same machine.
    std::vector<double> plain, to_device, from_device, pinned_to, pinned_from;
    const auto time = [](std::vector<double>& samples, auto body) { samples.push_back(bench::TimeEach(1, body)[0]); };
    for (size_t i = 0; i < repeats + 2; ++i) {
      if (i == 2) plain.clear(), to_device.clear(), from_device.clear(), pinned_to.clear(), pinned_from.clear();
      time(plain, [&] {
        std::memcpy(destination.data(), source.data(), bytes);
        asm volatile("" ::: "memory");
      });
      time(to_device, [&] { CHECK_CU(cuMemcpyHtoD_v2(device, source.data(), bytes)); });
      time(from_device, [&] { CHECK_CU(cuMemcpyDtoH_v2(destination.data(), device, bytes)); });
      time(pinned_to, [&] { CHECK_CU(cuMemcpyHtoD_v2(device, pinned, bytes)); });
      time(pinned_from, [&] { CHECK_CU(cuMemcpyDtoH_v2(pinned, device, bytes)); });
    }
    const double floor = GibPerSecond(bytes, bench::Summarize(plain).median);
    const auto add = [&](const char* name, std::vector<double>& samples) {
      const bench::Statistics statistics = bench::Summarize(samples);
      const double rate = GibPerSecond(bytes, statistics.median);
      report.Add({fmt::format("{} {}", name, SizeName(bytes)), rate, "GiB/s", floor, "memcpy", rate / floor,
                  statistics.spread});
    };
    add("H2D pageable", to_device);
    add("D2H pageable", from_device);
    add("H2D pinned", pinned_to);
    add("D2H pinned", pinned_from);
    CHECK_CU(cuMemFree_v2(device));
    CHECK_CU(cuMemFreeHost(pinned));
  }
  return report.Finish(out);
}
