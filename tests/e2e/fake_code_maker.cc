// NVRTC and nvJitLink, as far as compiles_at_run_time calls them: asked for line information, they put PTX beside the
// machine code, as the real ones do.
#include <cstring>
#include <string>

#include "image/testing_cubin.h"

namespace {

constexpr char kPtx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry store(.param .u64 out) {\n  .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d1, [out];\n  cvta.to.global.u64 %d2, %d1;\n  st.global.u32 [%d2], 42;\n  ret;\n}\n";

struct Maker {
  bool asked = false;

  void Read(const char* const* options, size_t count) {
    for (size_t i = 0; i < count; ++i) asked |= std::strcmp(options[i], "-lineinfo") == 0;
  }
  std::string Made() const {
    tutti::image::CubinBuilder builder(80);
    builder.Add(".text.store", "machine code");
    if (asked) builder.Add(tutti::image::kCarriedPtxSection, tutti::image::AsCarried(kPtx));
    const auto bytes = builder.Build();
    return {bytes.begin(), bytes.end()};
  }
};

int Give(const Maker* maker, char* out) {
  const std::string made = maker->Made();
  std::memcpy(out, made.data(), made.size());
  return 0;
}
int GiveSize(const Maker* maker, size_t* out) {
  *out = maker->Made().size();
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvrtcCreateProgram(Maker** out, const char*, const char*, int, const char* const*, const char* const*) {
  *out = new Maker;
  return 0;
}
int nvrtcCompileProgram(Maker* maker, int count, const char* const* options) {
  maker->Read(options, static_cast<size_t>(count));
  return 0;
}
int nvrtcGetCUBINSize(Maker* maker, size_t* out) { return GiveSize(maker, out); }
int nvrtcGetCUBIN(Maker* maker, char* out) { return Give(maker, out); }

int nvJitLinkCreate(Maker** out, uint32_t count, const char** options) {
  *out = new Maker;
  (*out)->Read(options, count);
  return 0;
}
int nvJitLinkAddData(Maker*, int, const void*, size_t, const char*) { return 0; }
int nvJitLinkComplete(Maker*) { return 0; }
int nvJitLinkGetLinkedCubinSize(Maker* maker, size_t* out) { return GiveSize(maker, out); }
int nvJitLinkGetLinkedCubin(Maker* maker, void* out) { return Give(maker, static_cast<char*>(out)); }

}  // extern "C"
#pragma GCC visibility pop
