// P20: the vendor's compiler on PTX as the fence makes it. The texts are made when this program is built (fenced/*.ptx,
// each beside the text that it was made from).
#include <cstdlib>
#include <string>
#include <vector>

#include "frame/files.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

std::string Folder() { return Here().data + "/fenced"; }

// The names of the texts, without what tells the two of a pair apart.
std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const std::string& file : FilesIn(Folder())) {
    if (file.ends_with(".plain.ptx")) names.push_back(file.substr(0, file.size() - 10));
  }
  if (names.empty()) GiveUp(Outcome::kLacks, "not here: " + Folder());
  return names;
}

struct Loaded {
  int result = 0;
  double ms = 0;
};
Loaded LoadText(const std::string& text) {
  CUmodule module = nullptr;
  const Stopwatch time;
  Loaded loaded;
  loaded.result = CU_TRY(cuModuleLoadData, &module, static_cast<const void*>(text.c_str()));
  loaded.ms = time.ms();
  if (loaded.result == 0) CU_TRY(cuModuleUnload, module);
  return loaded;
}

void Jit(std::string_view) {
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  OpenGpu();
  for (const std::string& name : Names()) {
    if (name.starts_with("hopper")) continue;
    const std::string plain = ReadFile(Folder() + "/" + name + ".plain.ptx"),
                      fenced = ReadFile(Folder() + "/" + name + ".fenced.ptx");
    const Loaded before = LoadText(plain), after = LoadText(fenced);
    Record()
        .Set("text", name)
        .Set("KiB", plain.size() / 1024.0)
        .Set("fenced KiB", fenced.size() / 1024.0)
        .Set("result", NameOf(before.result))
        .Set("fenced result", NameOf(after.result))
        .Set("ms", before.ms)
        .Set("fenced ms", after.ms)
        .Set("fenced ms a KiB", after.ms / (fenced.size() / 1024.0))
        .Write();
    if (Here().small) break;
  }
}

void Link(std::string_view) {
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  OpenGpu();
  for (const std::string& name : Names()) {
    if (name.starts_with("hopper")) continue;
    std::string fenced = ReadFile(Folder() + "/" + name + ".fenced.ptx");
    CUlinkState state = nullptr;
    void* cubin = nullptr;
    size_t bytes = 0;
    const Stopwatch time;
    CU(cuLinkCreate_v2, 0u, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr), &state);
    CU(cuLinkAddData_v2, state, static_cast<int>(CU_JIT_INPUT_PTX), static_cast<void*>(fenced.data()),
       fenced.size() + 1, name.c_str(), 0u, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr));
    CU(cuLinkComplete, state, &cubin, &bytes);
    const double link_ms = time.ms();
    CUmodule module = nullptr;
    const Stopwatch load;
    const int result = CU_TRY(cuModuleLoadData, &module, static_cast<const void*>(cubin));
    const double load_ms = load.ms();
    CU_TRY(cuLinkDestroy, state);
    Record()
        .Set("text", name)
        .Set("to a cubin, ms", link_ms)
        .Set("cubin in KiB", bytes / 1024.0)
        .Set("its load", NameOf(result))
        .Set("load, ms", load_ms)
        .Write();
    if (Here().small) break;
  }
}

// What only capability 9.0 has: does the fence keep it?
void Features(std::string_view) {
  const Gpu gpu = OpenGpu();
  const int capability = Attribute(gpu.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                         Attribute(gpu.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  for (const std::string& name : Names()) {
    if (!name.starts_with("hopper")) continue;
    const std::string fenced = ReadFile(Folder() + "/" + name + ".fenced.ptx");
    const Loaded plain = LoadText(ReadFile(Folder() + "/" + name + ".plain.ptx"));
    Record record;
    record.Set("feature", name).Set("capability", capability).Set("the driver takes it", plain.result == 0);
    record.Set("the fence takes it", !fenced.empty())
        .Set("the driver takes the fenced text", !fenced.empty() && LoadText(fenced).result == 0)
        .Write();
  }
}

std::string Decide(const Evidence& evidence) {
  const auto per_kib = evidence.Most("P20", "jit", "fenced ms a KiB"),
             longest = evidence.Most("P20", "jit", "fenced ms");
  const auto load = evidence.Most("P20", "link", "load, ms");
  if (!per_kib || !longest) return evidence.Undecided("P20");
  for (const Row* row : evidence.Of("P20", "jit")) {
    if (row->Text("result").starts_with("CUDA_SUCCESS") && !row->Text("fenced result").starts_with("CUDA_SUCCESS"))
      return "the driver refuses fenced PTX (" + row->Text("text") + "): no `shared` before that is mended";
  }
  std::string lost;
  for (const Row* row : evidence.Of("P20", "features")) {
    if (row->Truth("the driver takes it") == true && row->Truth("the driver takes the fenced text") == false)
      lost += " " + row->Text("feature");
  }
  return std::string(*longest > 20 ? "cubins are kept in the code cache"
                                   : "fenced PTX is given to the driver each time") +
         ": up to " + Show(*per_kib) + " ms a KiB, " + Show(*longest) + " ms at most" +
         (load ? "; a kept cubin loads in " + Show(*load) + " ms" : "") +
         (lost.empty() ? "" : "; lost to the fence:" + lost);
}

constexpr Step kSteps[] = {{"jit", Jit, 15}, {"link", Link, 12}, {"features", Features, 8}};

}  // namespace

const Probe kP20{"P20",
                 "How long does the driver take for fenced PTX, what does a kept cubin save, what is lost?",
                 kSteps,
                 {},
                 Decide};

}  // namespace tutti::gpu
