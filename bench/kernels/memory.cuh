// Kernels that are all memory: what a check of each address costs where nothing hides it.

constexpr uint32_t kMask = (1u << 20) - 1;  // of the words of each buffer

inline __device__ uint32_t Index() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void copy(const uint32_t* from, uint32_t* to) { to[Index()] = from[Index()]; }

extern "C" __global__ void copy_vectors(const float4* from, float4* to) {
  const uint32_t i = Index() & (kMask >> 2);
  to[i] = from[i];
}

extern "C" __global__ void copy_bytes(const unsigned char* from, unsigned char* to) { to[Index()] = from[Index()]; }

extern "C" __global__ void triad(const uint32_t* from, uint32_t* to) {
  const uint32_t i = Index() & (kMask >> 1);
  to[i] = from[i] * 3 + from[i + (kMask >> 1) + 1];
}

extern "C" __global__ void stencil(const uint32_t* from, uint32_t* to) {
  const uint32_t i = (Index() & (kMask >> 1)) + 1024;
  to[i] = from[i] + from[i - 1] + from[i + 1] + from[i - 1024] + from[i + 1024];
}

extern "C" __global__ void transpose(const uint32_t* from, uint32_t* to) {
  const uint32_t i = Index(), row = i >> 10, column = i & 1023;
  to[column << 10 | row] = from[i];
}

extern "C" __global__ void stride(const uint32_t* from, uint32_t* to) { to[Index()] = from[Index() * 33 & kMask]; }

extern "C" __global__ void gather(const uint32_t* from, uint32_t* to) { to[Index()] = from[from[Index()] & kMask]; }

extern "C" __global__ void scatter(const uint32_t* from, uint32_t* to) { to[from[Index()] & kMask] = Index(); }

// Sums of 64 words of each thread, through a pointer that moves.
extern "C" __global__ void walk(const uint32_t* from, uint32_t* to) {
  const uint32_t* at = from + (Index() & 16383) * 64;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 64; ++i) sum += at[i];
  to[Index() & 16383] = sum;
}
