// P1 and P2: memory whose owner is gone. The owner fills a slab, exports it and goes; the step has the descriptor
// alone.
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

constexpr uint64_t kSeed = 7;

uint64_t SlabBytes() { return Here().Size<uint64_t>(64 << 20, 4 << 20); }

// An owner's slab: mapped, filled and exported.
struct OwnedSlab {
  Gpu gpu = OpenGpu();
  PhysicalHandle handle = CreateSlab(gpu.device, SlabBytes());
  os::Fd fd = ExportSlab(handle);
  CUdeviceptr at = PlaceSlab(gpu.device, SlabBytes(), handle);

  OwnedSlab() {
    FillPattern(at, SlabBytes(), kSeed);
    CU(cuCtxSynchronize);
  }
  void Offer(Channel& step) const {
    step.Say("slab", {}, {fd.get()});
    step.Hear(30);
  }
};

// Releases everything and ends by itself.
void OwnerThatLeaves(Channel& step, std::string_view) {
  const OwnedSlab slab;
  RemoveSlab(slab.at, SlabBytes());
  CU(cuMemRelease, slab.handle);
  slab.Offer(step);
}

// Is in the middle of a kernel, with the slab mapped.
void OwnerThatIsKilled(Channel& step, std::string_view) {
  const OwnedSlab slab;
  Holder holder;
  holder.Start(NewStream(), 20'000, static_cast<unsigned>(MultiprocessorCount(slab.gpu.device)));
  slab.Offer(step);
}

void ImportAndCompare(const Gpu& gpu, int fd, Record& record) {
  const Stopwatch import;
  const PhysicalHandle handle = ImportSlab(fd);
  const CUdeviceptr at = PlaceSlab(gpu.device, SlabBytes(), handle);
  record.Set("import and map in ms", import.ms());
  record.Set("words that differ", CountDifferences(at, SlabBytes(), kSeed)).Set("MiB", SlabBytes() >> 20);
}

void AfterExit(std::string_view) {
  const Gpu gpu = OpenGpu();
  Peer owner("leaves");
  const Heard slab = owner.Expect("slab");
  const bool left = owner.Finish();
  Record record;
  record.Set("owner left by itself", left);
  ImportAndCompare(gpu, slab.fds.at(0).get(), record);
  record.Write();
}

void AfterKill(std::string_view) {
  const Gpu gpu = OpenGpu();
  Peer owner("is_killed");
  const Heard slab = owner.Expect("slab");
  const Stopwatch since_kill;
  const bool gone = owner.Kill();
  const double gone_ms = since_kill.ms();
  Launch(Kernel("empty"), 1, 1, nullptr);
  CU(cuCtxSynchronize);
  Record record;
  record.Set("owner is gone", gone)
      .Set("process gone after ms", gone_ms)
      .Set("next kernel of another after ms", since_kill.ms());
  ImportAndCompare(gpu, slab.fds.at(0).get(), record);
  record.Write();
}

std::string DecideExit(const Evidence& evidence) {
  const auto differ = evidence.Number("P1", "exit", "words that differ");
  if (!differ) return evidence.Undecided("P1");
  if (*differ > 0)
    return "physical memory does not outlive its owner's context: no relocation, no recovery; clients live and die "
           "with their executor";
  return "physical memory outlives its owner while a descriptor is held: the server keeps all memory as descriptors "
         "(section 3)";
}

std::string DecideKill(const Evidence& evidence) {
  const auto differ = evidence.Number("P2", "kill", "words that differ");
  const auto next = evidence.Number("P2", "kill", "next kernel of another after ms");
  if (!differ || !next) return evidence.Undecided("P2");
  if (*differ > 0) return "memory does not survive kill -9 of its owner: an executor may only be ended when it is idle";
  return "an executor may be killed with a kernel running: memory is intact, and others go on after " + Show(*next) +
         " ms";
}

constexpr Role kRoles[] = {{"leaves", OwnerThatLeaves}, {"is_killed", OwnerThatIsKilled}};
constexpr Step kExit[] = {{"exit", AfterExit, 10}};
constexpr Step kKill[] = {{"kill", AfterKill, 12}};

}  // namespace

const Probe kP1{"P1",
                "Memory is created, exported, released, and its process exits: are the bytes there for who imports it?",
                kExit, kRoles, DecideExit};
const Probe kP2{"P2", "The same after kill -9 with a kernel running?", kKill, kRoles, DecideKill};

}  // namespace tutti::gpu
