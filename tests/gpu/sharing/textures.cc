// Whether textures and surfaces of arrays work under Tutti on this driver, where kernels are not fenced.
#include <cstdint>
#include <string>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/probe.h"
#include "frame/record.h"
#include "frame/tutti_service.h"
#include "sharing/sharing.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

// read: word (x, y) of the texture to its place in rows of 64; add: 1 to each word of the surface.
constexpr char kModule[] = R"(
.version 6.0
.target sm_60
.address_size 64
.visible .entry read(.param .u64 texture, .param .u64 out) {
  .reg .u64 %texture, %out, %offset;
  .reg .u32 %x, %y, %i, %v<4>;
  ld.param.u64 %texture, [texture];
  ld.param.u64 %out, [out];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %ctaid.x;
  tex.2d.v4.u32.s32 {%v0, %v1, %v2, %v3}, [%texture, {%x, %y}];
  mad.lo.u32 %i, %y, 64, %x;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %out, %out, %offset;
  st.global.u32 [%out], %v0;
  ret;
}
.visible .entry add(.param .u64 surface) {
  .reg .u64 %surface;
  .reg .u32 %x, %y, %v;
  ld.param.u64 %surface, [surface];
  mov.u32 %x, %tid.x;
  shl.b32 %x, %x, 2;
  mov.u32 %y, %ctaid.x;
  suld.b.2d.b32.trap {%v}, [%surface, {%x, %y}];
  add.u32 %v, %v, 1;
  sust.b.2d.b32.trap [%surface, {%x, %y}], {%v};
  ret;
}
)";
constexpr unsigned kWidth = 64, kHeight = 32;

CUDA_RESOURCE_DESC ResourceOf(CUarray array) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

CUDA_MEMCPY3D Whole() {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = kWidth * sizeof(uint32_t);
  copy.Height = kHeight;
  copy.Depth = 1;
  return copy;
}

// Of an array that is written by a copy, changed through a surface, and read through a texture and by a copy.
void RunTexturer(Channel& step, std::string_view) {
  OpenGpu();
  CUarray array = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = kWidth,
                                      .Height = kHeight,
                                      .Depth = 0,
                                      .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                      .NumChannels = 1,
                                      .Flags = CUDA_ARRAY3D_SURFACE_LDST};
  CU(cuArray3DCreate_v2, &array, &shape);
  std::vector<uint32_t> words(kWidth * kHeight);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = 7 * i + 1;
  CUDA_MEMCPY3D in = Whole();
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = words.data();
  in.srcPitch = kWidth * sizeof(uint32_t);
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  CU(cuMemcpy3D_v2, static_cast<const CUDA_MEMCPY3D*>(&in));

  const CUDA_RESOURCE_DESC resource = ResourceOf(array);
  CUDA_TEXTURE_DESC sampling{};
  for (int& mode : sampling.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  sampling.flags = CU_TRSF_READ_AS_INTEGER;
  CUsurfObject surface = 0;
  CUtexObject texture = 0;
  CU(cuSurfObjectCreate, &surface, &resource);
  CU(cuTexObjectCreate, &texture, &resource, static_cast<const CUDA_TEXTURE_DESC*>(&sampling),
     static_cast<const CUDA_RESOURCE_VIEW_DESC*>(nullptr));
  CUdeviceptr out = 0;
  CU(cuMemAlloc_v2, &out, words.size() * sizeof(uint32_t));
  const CUmodule module = Load(kModule);
  const CUstream stream = NewStream();
  Launch(FunctionOf(module, "add"), kHeight, kWidth, stream, surface);
  Launch(FunctionOf(module, "read"), kHeight, kWidth, stream, texture, out);
  CU(cuStreamSynchronize, stream);

  std::vector<uint32_t> looked_up(words.size()), copied(words.size());
  CU(cuMemcpyDtoH_v2, static_cast<void*>(looked_up.data()), out, words.size() * sizeof(uint32_t));
  CUDA_MEMCPY3D back = Whole();
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = array;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = copied.data();
  back.dstPitch = kWidth * sizeof(uint32_t);
  CU(cuMemcpy3D_v2, static_cast<const CUDA_MEMCPY3D*>(&back));
  double wrong = 0;
  for (size_t i = 0; i < words.size(); ++i)
    wrong += (looked_up[i] != words[i] + 1 ? 1 : 0) + (copied[i] != words[i] + 1 ? 1 : 0);
  CU(cuTexObjectDestroy, texture);
  CU(cuSurfObjectDestroy, surface);
  CU(cuArrayDestroy, array);
  step.Say("done", {wrong});
}

void Texture(std::string_view policy) {
  const TuttiService service(policy == "process" ? "process" : "shared", policy == "trusted");
  Peer texturer("texturer", "", service.Client());
  const Heard done = texturer.Expect("done", 30);
  Record().Set("how", "Tutti, " + std::string(policy)).Set("words that are wrong", done.number(0)).Write();
  if (!texturer.Finish()) GiveUp(Outcome::kFailed, "a program with textures did not end well");
}

std::string Decide(const Evidence& evidence) {
  std::string text;
  for (const char* policy : {"process", "trusted"}) {
    for (const Row* row : evidence.Of("T5", policy)) {
      const auto wrong = row->Number("words that are wrong");
      if (!wrong) continue;
      text += (text.empty() ? "" : ", ") + std::string(policy) + ": " +
              (*wrong == 0 ? "all texels right" : Show(*wrong) + " words wrong");
    }
  }
  return text.empty() ? evidence.Undecided("T5") : text;
}

constexpr Role kRoles[] = {{"texturer", RunTexturer}};
constexpr Step kSteps[] = {{"process", Texture, 20}, {"trusted", Texture, 20}};

}  // namespace

const Probe kT5{"T5", "Do textures and surfaces of arrays read and write what they should under Tutti?", kSteps, kRoles,
                Decide};

}  // namespace tutti::gpu
