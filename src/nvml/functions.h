// NVML's functions, as programs of this repository call them. The library has them all (functions.def); these are the
// ones that nvidia-smi and the tests use.
#pragma once

#include "nvml/abi.h"

extern "C" {

nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlShutdown();
const char* nvmlErrorString(nvmlReturn_t);
nvmlReturn_t nvmlSystemGetDriverVersion(char*, unsigned);
nvmlReturn_t nvmlSystemGetNVMLVersion(char*, unsigned);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int*);
nvmlReturn_t nvmlSystemGetProcessName(unsigned, char*, unsigned);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned*);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char*, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char*, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t, char*, unsigned);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char*, unsigned);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t, nvmlPciInfo_t*);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t*);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t*);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t, unsigned*, nvmlProcessInfo_v1_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*);
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t, nvmlProcessUtilizationSample_t*, unsigned*,
                                             unsigned long long);
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t, int*);
nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t, int);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int*, int*);
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t, nvmlDeviceAttributes_t*);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t, nvmlDevice_t, int*);

}  // extern "C"
