// The part of a vendor's library that bench/compile.cc compiles, where nvcc is there to make it: a onesweep radix sort
// of pairs and a scan. Their kernels are long, unrolled, full of warp operations, and have decoupled look-back loops:
// they show which parts of a compiler are quadratic.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

cudaError_t Sort(void* memory, size_t& bytes, const unsigned* keys, unsigned* sorted_keys, const unsigned* values, unsigned* sorted_values, int count) {
  return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted_keys, values, sorted_values, count);
}

cudaError_t Scan(void* memory, size_t& bytes, const unsigned* values, unsigned* sums, int count) {
  return cub::DeviceScan::InclusiveSum(memory, bytes, values, sums, count);
}
