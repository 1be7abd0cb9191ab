// sharing: memory that processes share, and copies to memory that the host does not reach itself. References, in the
// same run: memcpy between two ordinary buffers, and mapping a memory file of the same size.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "../tests/compat/driver_api.h"
#include "report.h"
#include "timing.h"

namespace {

using namespace tutti::cuda;

constexpr size_t kShared = 64 << 20;
constexpr int kRounds = 2000;

struct Exchange {
  CUipcMemHandle memory;
  std::atomic<int> step{0};
};

void Check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", call, static_cast<int>(status));
  std::exit(1);
}
#define CHECK(call) Check(call, #call)

void OpenDevice() {
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
}

// Has memory that another process opens.
[[noreturn]] void Give(Exchange& exchange) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  OpenDevice();
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc_v2(&memory, kShared));
  CHECK(cuIpcGetMemHandle(&exchange.memory, memory));
  exchange.step.store(1);
  for (;;) pause();
}

CUdeviceptr Mapped(size_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access{.location = properties.location, .flags = 3};
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr address = 0;
  CHECK(cuMemCreate(&memory, bytes, &properties, 0));
  CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  CHECK(cuMemMap(address, bytes, 0, memory, 0));
  CHECK(cuMemSetAccess(address, bytes, &access, 1));
  CHECK(cuMemRelease(memory));
  return address;
}

std::string SizeName(size_t bytes) {
  return bytes >= (1 << 20) ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

void Opening(const Exchange& exchange, bench::Report& report) {
  std::vector<double> opens, closes, maps;
  const int file = memfd_create("reference", 0);
  if (ftruncate(file, kShared) != 0) std::exit(1);
  for (int i = 0; i < kRounds; ++i) {
    CUdeviceptr memory = 0;
    opens.push_back(bench::TimeEach(1, [&] { CHECK(cuIpcOpenMemHandle_v2(&memory, exchange.memory, 1)); })[0]);
    closes.push_back(bench::TimeEach(1, [&] { CHECK(cuIpcCloseMemHandle(memory)); })[0]);
    void* reference = nullptr;
    maps.push_back(bench::TimeEach(
        1, [&] { reference = mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); })[0]);
    munmap(reference, kShared);
  }
  const double floor = bench::Summarize(maps).median / 1e3;
  const auto add = [&](const char* name, std::vector<double>& samples) {
    const bench::Statistics statistics = bench::Summarize(samples);
    report.Add({fmt::format("{} p50", name), statistics.median / 1e3, "us", floor, "mmap of a memory file",
                statistics.median / 1e3 / floor, statistics.spread});
    report.Add({fmt::format("{} p99", name), statistics.p99 / 1e3, "us", 0, "", 0, 0});
  };
  add("cuIpcOpenMemHandle of 64 MiB", opens);
  add("cuIpcCloseMemHandle", closes);
}

void Copies(size_t bytes, bench::Report& report) {
  std::vector<char> source(bytes, 1), destination(bytes, 2);
  const CUdeviceptr device = Mapped(bytes);
  const size_t repeats = std::max<size_t>(7, std::min<size_t>(1000, (512u << 20) / bytes));
  std::vector<double> plain, to, from;
  const auto time = [](std::vector<double>& samples, auto body) { samples.push_back(bench::TimeEach(1, body)[0]); };
  for (size_t i = 0; i < repeats + 2; ++i) {
    if (i == 2) plain.clear(), to.clear(), from.clear();
    time(plain, [&] {
      std::memcpy(destination.data(), source.data(), bytes);
      asm volatile("" ::: "memory");
    });
    time(to, [&] { CHECK(cuMemcpyHtoD_v2(device, source.data(), bytes)); });
    time(from, [&] { CHECK(cuMemcpyDtoH_v2(destination.data(), device, bytes)); });
  }
  const auto rate = [bytes](double ns) { return static_cast<double>(bytes) / ns * 1e9 / (1 << 30); };
  const double floor = rate(bench::Summarize(plain).median);
  for (const auto& [name, samples] : {std::pair("H2D by relay", &to), std::pair("D2H by relay", &from)}) {
    const bench::Statistics statistics = bench::Summarize(*samples);
    const double value = rate(statistics.median);
    report.Add({fmt::format("{} {}", name, SizeName(bytes)), value, "GiB/s", floor, "memcpy", value / floor,
                statistics.spread});
  }
  CHECK(cuMemUnmap(device, bytes));
  CHECK(cuMemAddressFree(device, bytes));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  auto& exchange =
      *new (mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Exchange;
  const pid_t giver = fork();
  if (giver == 0) Give(exchange);
  OpenDevice();
  while (exchange.step.load() == 0) usleep(1000);
  bench::Report report("sharing",
                       "aims: opening at most 100 us at p50; a copy by relay at least 0.9 of memcpy from 1 MiB up");
  Opening(exchange, report);
  for (size_t bytes = 2 << 20; bytes <= (128u << 20); bytes *= 4) Copies(bytes, report);
  kill(giver, SIGKILL);
  waitpid(giver, nullptr, 0);
  return report.Finish(out);
}
