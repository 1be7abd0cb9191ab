// c = a + b, in a grid-stride loop so that any number of blocks does the work.
extern "C" __global__ void vector_add_kernel(const float* a, const float* b, float* c, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
