// Counts of bytes in shared memory, and of 16-bit numbers in global memory.

__kernel void histogram_shared(__global const uint* words, __global uint* bins, uint count) {
  __local uint tile[256];
  tile[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_group_id(0) * 256 + get_local_id(0); i < count; i += get_num_groups(0) * 256) {
    const uint word = words[i];
    atomic_add(&tile[word & 255], 1u);
    atomic_add(&tile[word >> 8 & 255], 1u);
    atomic_add(&tile[word >> 16 & 255], 1u);
    atomic_add(&tile[word >> 24], 1u);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[get_local_id(0)], tile[get_local_id(0)]);
}

__kernel void histogram_global(__global const uint* words, __global uint* bins) {
  atomic_add(&bins[words[get_group_id(0) * get_local_size(0) + get_local_id(0)] & 65535], 1u);
}
