// Kernels that follow indices: a sparse matrix in columns (ELL; in rows: kernels.cuh), a graph, a hash table.

__kernel void spmv_ell(__global const uint* columns, __global const float* values, __global const float* x, __global float* y, uint rows, uint width) {
  const uint row = get_group_id(0) * get_local_size(0) + get_local_id(0);
  float sum = 0;
  for (uint i = 0; i < width; ++i) sum = fma(values[i * rows + row], x[columns[i * rows + row]], sum);
  y[row] = sum;
}

__kernel void bfs_root(__global uint* levels) { levels[0] = 0; }

// One level of a breadth-first search.
__kernel void bfs_level(__global const uint* starts, __global const uint* targets, __global uint* levels, uint level) {
  const uint node = get_group_id(0) * get_local_size(0) + get_local_id(0);
  if (levels[node] != level) return;
  for (uint i = starts[node]; i < starts[node + 1]; ++i) {
    if (levels[targets[i]] == 0xffffffffu) levels[targets[i]] = level + 1;
  }
}

inline uint Slot(uint key, uint mask) { return key * 2654435761u >> 7 & mask; }

// Open addressing; a key of 0 is an empty slot.
__kernel void join_build(__global const uint* keys, __global uint* table_keys, __global uint* table_values, uint mask) {
  const uint i = get_group_id(0) * get_local_size(0) + get_local_id(0), key = keys[i];
  uint slot = Slot(key, mask);
  while (atomic_cmpxchg(&table_keys[slot], 0, key) != 0) slot = (slot + 1) & mask;
  table_values[slot] = i;
}

__kernel void join_probe(__global const uint* keys, __global const uint* table_keys, __global const uint* table_values, __global uint* matches, uint mask) {
  const uint i = get_group_id(0) * get_local_size(0) + get_local_id(0), key = keys[i];
  uint slot = Slot(key, mask), match = 0xffffffffu;
  for (uint found = table_keys[slot]; found != 0; found = table_keys[slot]) {
    if (found == key) {
      match = table_values[slot];
      break;
    }
    slot = (slot + 1) & mask;
  }
  matches[i] = match;
}
