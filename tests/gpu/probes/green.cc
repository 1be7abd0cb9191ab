#include "probes/green.h"

namespace tutti::gpu {

using namespace cuda;

SmGroups SplitSms(CUdevice device, unsigned least, unsigned flags) {
  CUdevResource all{};
  CU(cuDeviceGetDevResource, device, &all, static_cast<int>(CU_DEV_RESOURCE_TYPE_SM));
  SmGroups split;
  unsigned count = 0;
  CU(cuDevSmResourceSplitByCount, static_cast<CUdevResource*>(nullptr), &count, static_cast<const CUdevResource*>(&all),
     static_cast<CUdevResource*>(nullptr), flags, least);
  split.groups.resize(count);
  CU(cuDevSmResourceSplitByCount, split.groups.data(), &count, static_cast<const CUdevResource*>(&all), &split.rest,
     flags, least);
  split.groups.resize(count);
  return split;
}

GreenContext MakeGreenContext(CUdevice device, std::span<const CUdevResource> groups, int* result) {
  std::vector<CUdevResource> list(groups.begin(), groups.end());
  GreenContext green;
  CUdevResourceDesc description = nullptr;
  int code = CU_TRY(cuDevResourceGenerateDesc, &description, list.data(), static_cast<unsigned>(list.size()));
  const char* what = "cuDevResourceGenerateDesc";
  if (code == 0) {
    what = "cuGreenCtxCreate";
    code = CU_TRY(cuGreenCtxCreate, &green.context, description, device,
                  static_cast<unsigned>(CU_GREEN_CTX_DEFAULT_STREAM));
  }
  if (code == 0) {
    what = "cuGreenCtxStreamCreate";
    code =
        CU_TRY(cuGreenCtxStreamCreate, &green.stream, green.context, static_cast<unsigned>(CU_STREAM_NON_BLOCKING), 0);
  }
  if (result != nullptr) {
    *result = code;
  } else {
    Check(what, code);
  }
  return green;
}

}  // namespace tutti::gpu
