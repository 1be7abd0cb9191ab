// P7: the last context of the device is gone, descriptors are held: does the memory stay? The step itself uses no
// driver until the end.
#include <fcntl.h>
#include <unistd.h>

#include "frame/files.h"
#include "frame/find_driver.h"
#include "frame/gpu.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

uint64_t SlabBytes() { return Here().Size<uint64_t>(64 << 20, 4 << 20); }

void Owner(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  PhysicalHandle handle = CreateSlab(gpu.device, SlabBytes());
  const os::Fd fd = ExportSlab(handle);
  const CUdeviceptr at = PlaceSlab(gpu.device, SlabBytes(), handle);
  FillPattern(at, SlabBytes(), 5);
  CU(cuCtxSynchronize);
  step.Say("slab", {}, {fd.get()});
  step.Hear(20);
}

// Whether the driver keeps the device initialised without anybody.
bool Persistent() {
  for (const std::string& pid : FilesIn("/proc")) {
    if (ReadFile("/proc/" + pid + "/comm", 64).starts_with("nvidia-persiste")) return true;
  }
  return false;
}

void Alone(std::string_view step) {
  Peer owner("owner");
  const Heard slab = owner.Expect("slab");
  os::Fd device_file;
  if (step == "device_file_open") {
    device_file = os::Fd(open("/dev/nvidia0", O_RDWR | O_CLOEXEC));
    if (!device_file) GiveUp(Outcome::kLacks, "not here: /dev/nvidia0");
  }
  owner.Finish();
  usleep(Here().Size(1'500'000u, 50'000u));  // the device would be shut down by now
  const Gpu gpu = OpenGpu();
  PhysicalHandle handle = 0;
  const int imported = CU_TRY(cuMemImportFromShareableHandle, &handle,
                              reinterpret_cast<void*>(static_cast<uintptr_t>(slab.fds.at(0).get())),
                              static_cast<int>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  Record record;
  record.Set("persistence daemon", Persistent()).Set("import", NameOf(imported));
  if (imported == 0)
    record.Set("words that differ", CountDifferences(PlaceSlab(gpu.device, SlabBytes(), handle), SlabBytes(), 5));
  record.Set("there", imported == 0).Set("cuInit in ms", gpu.init_ms).Write();
}

std::string Decide(const Evidence& evidence) {
  const auto intact = [&](std::string_view step) -> std::optional<bool> {
    const auto there = evidence.Truth("P7", step, "there");
    if (!there) return std::nullopt;
    return *there && evidence.Number("P7", step, "words that differ") == 0.0;
  };
  const auto alone = intact("descriptors_only"), file = intact("device_file_open");
  if (!alone) return evidence.Undecided("P7");
  bool persistent = evidence.Truth("P7", "descriptors_only", "persistence daemon").value_or(false);
  for (const Row* row : evidence.Of("facts", "driver"))
    persistent = persistent || (row->Text("fact") == "persistence mode" && row->Text("value") == "1");
  if (*alone)
    return std::string("descriptors alone keep the memory") +
           (persistent ? " (with persistence on: elsewhere the server keeps a standby or an opened device file)"
                       : ": the server needs nothing else");
  if (file.value_or(false))
    return "the server keeps an opened device file: without it memory is lost with the last context";
  return "memory is lost with the last context: a standby executor is always kept";
}

constexpr Role kRoles[] = {{"owner", Owner}};
constexpr Step kSteps[] = {{"descriptors_only", Alone, 12}, {"device_file_open", Alone, 12}};

}  // namespace

const Probe kP7{"P7", "The last context is gone and descriptors are held: is the memory still there?", kSteps, kRoles,
                Decide};

}  // namespace tutti::gpu
