// P6: one piece of memory at several addresses, one address in several processes, and a hole that a small piece fills.
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kPage = 2 << 20;
constexpr CUdeviceptr kBase = 0x2000'0000'0000;

void TwoAddresses(std::string_view) {
  const Gpu gpu = OpenGpu();
  const PhysicalHandle handle = CreatePhysical(gpu.device, kPage);
  const CUdeviceptr one = PlaceSlab(gpu.device, kPage, handle), two = PlaceSlab(gpu.device, kPage, handle);
  FillPattern(one, kPage, 11);
  CU(cuCtxSynchronize);
  Record().Set("addresses differ", one != two).Set("words that differ", CountDifferences(two, kPage, 11)).Write();
}

void Reader(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  const Heard slab = step.Hear(20);
  const CUdeviceptr at = PlaceSlab(gpu.device, kPage, ImportSlab(slab.fds.at(0).get()), kBase);
  step.Say("read", {static_cast<double>(at), static_cast<double>(CountDifferences(at, kPage, 12))});
}

void TwoProcesses(std::string_view) {
  Peer reader("reader");
  const Gpu gpu = OpenGpu();
  const PhysicalHandle handle = CreateSlab(gpu.device, kPage);
  const os::Fd fd = ExportSlab(handle);
  const CUdeviceptr at = PlaceSlab(gpu.device, kPage, handle, kBase);
  FillPattern(at, kPage, 12);
  CU(cuCtxSynchronize);
  reader.channel().Say("slab", {}, {fd.get()});
  const Heard read = reader.Expect("read");
  Record()
      .Set("same address", read.number(0) == static_cast<double>(at))
      .Set("as wished", at == kBase)
      .Set("words that differ", read.number(1))
      .Write();
}

// 2 MiB again and again over 1 GiB.
void Scrap(std::string_view) {
  const Gpu gpu = OpenGpu();
  const uint64_t count = Here().Size<uint64_t>(512, 4);
  const PhysicalHandle handle = CreatePhysical(gpu.device, kPage);
  const CUdeviceptr at = ReserveAddresses(count * kPage);
  const Stopwatch map;
  for (uint64_t i = 0; i < count; ++i) MapSlab(at + i * kPage, kPage, handle);
  const double map_us = map.us();
  const Stopwatch access;
  SetAccess(gpu.device, at, count * kPage);
  const double access_us = access.us();
  CU(cuMemsetD8_v2, at + (count - 1) * kPage, static_cast<unsigned char>(1), size_t{64});
  CU(cuCtxSynchronize);
  Record()
      .Set("MiB filled", count * 2)
      .Set("map, us each", map_us / static_cast<double>(count))
      .Set("set-access over all, us", access_us)
      .Set("together, ms", (map_us + access_us) / 1e3)
      .Write();
}

std::string Decide(const Evidence& evidence) {
  const auto alias = evidence.Number("P6", "two_addresses", "words that differ"),
             ms = evidence.Number("P6", "scrap", "together, ms");
  if (!alias || !ms) return evidence.Undecided("P6");
  if (*alias > 0) return "one piece cannot be at two addresses: holes keep their own slab";
  return *ms <= 5 ? "holes get the client's scrap slab: 1 GiB is filled in " + Show(*ms) + " ms"
                  : "holes keep their slab: filling 1 GiB with scrap takes " + Show(*ms) + " ms";
}

constexpr Role kRoles[] = {{"reader", Reader}};
constexpr Step kSteps[] = {
    {"two_addresses", TwoAddresses, 8}, {"two_processes", TwoProcesses, 10}, {"scrap", Scrap, 8}};

}  // namespace

const Probe kP6{
    "P6",
    "May one piece of memory be at two addresses, and one address in two processes? What does filling a hole cost?",
    kSteps, kRoles, Decide};

}  // namespace tutti::gpu
