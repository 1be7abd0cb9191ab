// One step of gravity between all pairs of bodies: every block walks over all bodies, a tile at a time through shared
// memory. x, y, z are positions, w the mass. `count` is a multiple of the block size.
extern "C" __global__ void n_body_kernel(const float4* bodies, float4* accelerations, uint32_t count) {
  __shared__ float4 tile[256];
  for (uint32_t first = blockIdx.x * blockDim.x; first < count; first += gridDim.x * blockDim.x) {
    const float4 self = bodies[first + threadIdx.x];
    float ax = 0, ay = 0, az = 0;
    for (uint32_t start = 0; start < count; start += blockDim.x) {
      tile[threadIdx.x] = bodies[start + threadIdx.x];
      __syncthreads();
      for (uint32_t i = 0; i < blockDim.x; ++i) {
        const float4 other = tile[i];
        const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
        const float distance = __fmaf_rn(dx, dx, __fmaf_rn(dy, dy, __fmaf_rn(dz, dz, 1e-4f)));
        const float inverse = rsqrtf(distance);
        const float pull = other.w * inverse * inverse * inverse;
        ax = __fmaf_rn(dx, pull, ax);
        ay = __fmaf_rn(dy, pull, ay);
        az = __fmaf_rn(dz, pull, az);
      }
      __syncthreads();
    }
    accelerations[first + threadIdx.x] = float4{ax, ay, az, 0.0f};
  }
}
