// P10: what a program may have kept of a module, in another process that loads the same: addresses of variables and
// functions, handles of textures.
#include <vector>

#include "frame/gpu.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr char kModule[] = R"(
.version 6.0
.target sm_60
.address_size 64
.visible .global .align 8 .u64 counter = 3;
.visible .const .align 8 .u64 table[4] = {1, 2, 3, 4};
.func (.param .u64 out) twice(.param .u64 in) {
  .reg .u64 %x;
  ld.param.u64 %x, [in];
  add.u64 %x, %x, %x;
  st.param.u64 [out], %x;
  ret;
}
.visible .entry address_of(.param .u64 at) {
  .reg .u64 %at, %f;
  ld.param.u64 %at, [at];
  mov.u64 %f, twice;
  st.global.u64 [%at], %f;
  ret;
}
)";

constexpr size_t kValues = 5;
constexpr const char* kNames[kValues] = {"variable", "constant", "function", "texture handle", "allocation"};

// In the same order everywhere; "disturbed" allocates something before.
void Loader(Channel& step, std::string_view how) {
  OpenGpu();
  CUdeviceptr other = 0, plain = 0, at = 0;
  if (how == "disturbed") CU(cuMemAlloc_v2, &other, size_t{5 << 20});
  std::vector<double> values(kValues, 0.0);
  const CUmodule module = Load(kModule);
  size_t bytes = 0;
  CU(cuModuleGetGlobal_v2, &at, &bytes, module, "counter");
  values[0] = static_cast<double>(at);
  CU(cuModuleGetGlobal_v2, &at, &bytes, module, "table");
  values[1] = static_cast<double>(at);
  SharedWords word(1);
  Launch(FunctionOf(module, "address_of"), 1, 1, nullptr, word.at(0));
  CU(cuCtxSynchronize);
  values[2] = static_cast<double>(word[0]);
  CU(cuMemAlloc_v2, &plain, size_t{1 << 20});
  CUDA_RESOURCE_DESC resource{};
  resource.resType = 2;  // linear memory
  resource.res.linear.devPtr = plain;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 4096;
  const CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  if (CU_TRY(cuTexObjectCreate, &texture, static_cast<const CUDA_RESOURCE_DESC*>(&resource), &sampling,
             static_cast<const CUDA_RESOURCE_VIEW_DESC*>(nullptr)) == 0)
    values[3] = static_cast<double>(texture);
  values[4] = static_cast<double>(plain);
  step.Say("values", values);
}

void Compare(std::string_view step) {
  Peer first("loader"), second("loader", step == "disturbed" ? "disturbed" : "");
  const Heard one = first.Expect("values"), two = second.Expect("values");
  for (size_t i = 0; i < kValues; ++i)
    Record()
        .Set("what", kNames[i])
        .Set("equal", one.number(i) == two.number(i))
        .Set("had one", one.number(i) != 0)
        .Write();
}

std::string Decide(const Evidence& evidence) {
  std::string equal, different;
  for (const Row* row : evidence.Of("P10", "disturbed")) {
    if (row->Text("what").empty() || row->Text("what") == "allocation" || row->Truth("had one") == false) continue;
    std::string& list = row->Truth("equal").value_or(false) ? equal : different;
    list += (list.empty() ? "" : ", ") + row->Text("what");
  }
  if (equal.empty() && different.empty()) return evidence.Undecided("P10");
  return "bound to its executor is who has asked for: " +
         (different.empty() ? "nothing, as long as values are found equal" : different) +
         (equal.empty() ? "" : "; equal in another process: " + equal);
}

constexpr Role kRoles[] = {{"loader", Loader}};
constexpr Step kSteps[] = {{"same", Compare, 10}, {"disturbed", Compare, 10}};

}  // namespace

const Probe kP10{"P10", "The same modules in the same order in another process: are addresses and handles equal?",
                 kSteps, kRoles, Decide};

}  // namespace tutti::gpu
