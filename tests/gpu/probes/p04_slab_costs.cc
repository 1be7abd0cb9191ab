// P4: what making and moving slabs costs, by their size.
#include <algorithm>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kMib = 1 << 20;

// Says how long each kind of call took: `count` slabs of `bytes` in one range, as at a relocation.
void Measure(uint64_t bytes, size_t count) {
  const CUdevice device = OpenGpu().device;
  Record record;
  record.Set("MiB a slab", bytes / kMib).Set("slabs", count);
  // Microseconds of one of `times` calls; the whole in ms is returned.
  const auto time = [&](const char* what, size_t times, const auto& calls) {
    const Stopwatch watch;
    calls();
    const double us = watch.us();
    record.Set(what, us / static_cast<double>(times));
    return us / 1e3;
  };
  std::vector<PhysicalHandle> made, handles;
  std::vector<os::Fd> fds;
  const CUdeviceptr at = ReserveAddresses(bytes * count);
  const auto map_all = [&] {
    for (size_t i = 0; i < count; ++i) MapSlab(at + i * bytes, bytes, handles[i]);
  };
  time("create, us each", count, [&] {
    for (size_t i = 0; i < count; ++i) made.push_back(CreateSlab(device, bytes));
  });
  time("export", count, [&] {
    for (const PhysicalHandle handle : made) fds.push_back(ExportSlab(handle));
  });
  double relocation_ms = time("import", count, [&] {
    for (const os::Fd& fd : fds) handles.push_back(ImportSlab(fd.get()));
  });
  relocation_ms += time("map", count, map_all);
  relocation_ms += time("one set-access over all", 1, [&] { SetAccess(device, at, bytes * count); });
  const auto unmap_all = [&] {
    // In one call if the driver lets a range of several mappings go.
    if (CU_TRY(cuMemUnmap, at, static_cast<size_t>(bytes * count)) == 0) return;
    for (size_t i = 0; i < count; ++i) CU(cuMemUnmap, at + i * bytes, static_cast<size_t>(bytes));
  };
  time("unmap all", 1, unmap_all);
  map_all();
  time("set-access of each", count, [&] {
    for (size_t i = 0; i < count; ++i) SetAccess(device, at + i * bytes, bytes);
  });
  unmap_all();
  time("release and close", count, [&] {
    for (const PhysicalHandle handle : handles) CU(cuMemRelease, handle);
    for (const PhysicalHandle handle : made) CU(cuMemRelease, handle);
    fds.clear();
  });
  record.Set("relocation: import, map, access, ms", relocation_ms).Write();
}

void Slabs2(std::string_view) { Measure(2 * kMib, Here().Size<size_t>(256, 4)); }
void Slabs64(std::string_view) { Measure(64 * kMib, Here().Size<size_t>(32, 1)); }
void Slab1024(std::string_view) { Measure(Here().Size<uint64_t>(1024, 64) * kMib, 1); }

// 40 GiB, or what there is, in slabs of two sizes.
void Large(std::string_view step) {
  const uint64_t slab = Here().Size<uint64_t>(step == "large_in_64" ? 64 : 512, 8) * kMib;
  OpenGpu();
  const uint64_t bytes = std::min(MemoryBudget() / 2, Here().Size<uint64_t>(40 * 1024, 32) * kMib);
  Measure(slab, std::max<uint64_t>(1, bytes / slab));
}

std::string Decide(const Evidence& evidence) {
  const auto small = evidence.Number("P4", "large_in_64", "relocation: import, map, access, ms"),
             big = evidence.Number("P4", "large_in_512", "relocation: import, map, access, ms");
  const auto count = evidence.Number("P4", "large_in_64", "slabs");
  if (!small || !count) return evidence.Undecided("P4");
  const std::string what = Show(*small) + " ms for " +
                           Show(*count * evidence.Number("P4", "large_in_64", "MiB a slab").value_or(64) / 1024) +
                           " GiB in slabs of 64 MiB";
  if (*small <= 50) return "slabs of 64 MiB; a relocation maps in " + what;
  if (big && *big <= 0.5 * *small)
    return "slabs of 512 MiB for large allocations: " + Show(*big) + " ms instead of " + what;
  return "slabs of 64 MiB, and standbys keep everything mapped: a relocation would take " + what;
}

constexpr Step kSteps[] = {{"slabs_of_2", Slabs2, 8},
                           {"slabs_of_64", Slabs64, 8},
                           {"slab_of_1024", Slab1024, 8},
                           {"large_in_64", Large, 15},
                           {"large_in_512", Large, 12}};

}  // namespace

const Probe kP4{"P4",
                "What do create, export, import, map, set-access and unmap cost, by the size of the slab?",
                kSteps,
                {},
                Decide};

}  // namespace tutti::gpu
