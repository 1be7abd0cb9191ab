// The vendor's driver, opened by absolute path and used through a table (vendor.def): the programs of the GPU run link
// no driver and can be pointed at any, ours included.
#pragma once

#include <string>

#include "frame/vendor_types.h"

namespace tutti::cuda {

struct VendorTable {
#define CU_VENDOR(symbol, need, types) CUresult(*symbol) types = nullptr;
#include "frame/vendor.def"
#undef CU_VENDOR
};

}  // namespace tutti::cuda

namespace tutti::gpu {

// Opens the driver, once per process. Empty: it is open. Else why not.
std::string OpenVendor(const std::string& path);
// Only after OpenVendor. Functions that the driver does not export are null.
const cuda::VendorTable& Driver();

}  // namespace tutti::gpu
