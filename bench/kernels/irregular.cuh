// Kernels that follow indices: a sparse matrix in columns (ELL; in rows: kernels.cuh), a graph, a hash table.

extern "C" __global__ void spmv_ell(const uint32_t* columns, const float* values, const float* x, float* y, uint32_t rows, uint32_t width) {
  const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (uint32_t i = 0; i < width; ++i) sum = __fmaf_rn(values[i * rows + row], x[columns[i * rows + row]], sum);
  y[row] = sum;
}

extern "C" __global__ void bfs_root(uint32_t* levels) { levels[0] = 0; }

// One level of a breadth-first search.
extern "C" __global__ void bfs_level(const uint32_t* starts, const uint32_t* targets, uint32_t* levels, uint32_t level) {
  const uint32_t node = blockIdx.x * blockDim.x + threadIdx.x;
  if (levels[node] != level) return;
  for (uint32_t i = starts[node]; i < starts[node + 1]; ++i) {
    if (levels[targets[i]] == ~0u) levels[targets[i]] = level + 1;
  }
}

inline __device__ uint32_t Slot(uint32_t key, uint32_t mask) { return key * 2654435761u >> 7 & mask; }

// Open addressing; a key of 0 is an empty slot.
extern "C" __global__ void join_build(const uint32_t* keys, uint32_t* table_keys, uint32_t* table_values, uint32_t mask) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i];
  uint32_t slot = Slot(key, mask);
  while (atomicCAS(&table_keys[slot], 0, key) != 0) slot = (slot + 1) & mask;
  table_values[slot] = i;
}

extern "C" __global__ void join_probe(const uint32_t* keys, const uint32_t* table_keys, const uint32_t* table_values, uint32_t* matches, uint32_t mask) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i];
  uint32_t slot = Slot(key, mask), match = ~0u;
  for (uint32_t found = table_keys[slot]; found != 0; found = table_keys[slot]) {
    if (found == key) {
      match = table_values[slot];
      break;
    }
    slot = (slot + 1) & mask;
  }
  matches[i] = match;
}
