// What bench/compile.cc compiles of a vendor's library, where nvcc is there to make it: a radix sort of pairs in one sweep and
// a scan. Their kernels are long, unrolled, full of warp operations, and have loops that look back at what other blocks have
// published: where parts of a compiler take the square of steps, these show it.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

cudaError_t Sort(void* memory, size_t& bytes, const unsigned* keys, unsigned* sorted_keys, const unsigned* values, unsigned* sorted_values, int count) {
  return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted_keys, values, sorted_values, count);
}

cudaError_t Scan(void* memory, size_t& bytes, const unsigned* values, unsigned* sums, int count) {
  return cub::DeviceScan::InclusiveSum(memory, bytes, values, sums, count);
}
