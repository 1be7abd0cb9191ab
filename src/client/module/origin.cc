#include "client/module/origin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <string_view>

namespace tutti::client {
namespace {

constexpr int kNoMachineCode = 13;  // compute capability 13.0: newer than what any library has machine code for

// Libraries and packages of Python that make machine code as programs run, by what the paths of their files contain.
struct Maker {
  const char* part;
  const char* advice;
  const char* advice_if_audited = nullptr;  // where `tutti run` has not helped; default: the same
};
constexpr Maker kMakers[] = {
    {"/libnvrtc.so", "tutti run makes NVRTC keep PTX in it",
     "tutti run did not reach this call of NVRTC: give it -lineinfo, or load its PTX (nvrtcGetPTX)"},
    {"/libnvJitLink.so", "tutti run makes nvJitLink keep PTX in it",
     "tutti run did not reach this call of nvJitLink: give it -lineinfo, or PTX without -lto"},
    {"/triton/", "Triton keeps PTX in it unless TRITON_DISABLE_LINE_INFO=1 is set"},
    {"/cupy/", "CuPy loads PTX with CUPY_COMPILE_WITH_PTX=1"},
    {"/numba/", "Numba keeps PTX in it with @cuda.jit(lineinfo=True)"},
};

// By its name: libx.so, libx.so.1, x.cpython-311-x86_64-linux-gnu.so. A folder's name says nothing.
bool IsLibrary(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return name.ends_with(".so") || name.find(".so.") != name.npos;
}

}  // namespace

std::string OriginOf(const void* where) {
  Dl_info info{};
  return where != nullptr && dladdr(where, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::vector<std::string> LoadedFiles() {
  std::vector<std::string> files;
  const auto add = [](dl_phdr_info* info, size_t, void* list) {
    static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &files);
  return files;
}

std::string AdviceAboutPtx(const std::string& origin, const std::vector<std::string>& loaded, bool audited,
                           int compute_major) {
  if (IsLibrary(origin)) {
    if (compute_major >= kNoMachineCode) return "";
    return fmt::format(
        "a library chooses its kernels by the compute capability, and has PTX for devices that are newer "
        "than its machine code: try TUTTI_COMPUTE_CAPABILITY={}.0",
        kNoMachineCode);
  }
  std::string text;
  if (!origin.empty()) return text;
  for (const Maker& maker : kMakers) {
    const auto is_its = [&](const std::string& file) { return file.find(maker.part) != std::string::npos; };
    if (std::ranges::any_of(loaded, is_its))
      text += (text.empty() ? "" : "; ") +
              std::string(audited && maker.advice_if_audited != nullptr ? maker.advice_if_audited : maker.advice);
  }
  return text;
}

}  // namespace tutti::client
