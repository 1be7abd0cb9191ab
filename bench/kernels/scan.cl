// Inclusive sums in three steps: of each block of 1,024, of the blocks' sums, and their addition.

// The inclusive sum of `value` over the block of 256; *total is the sum of all.
inline uint ScanBlock(uint value, __local uint* tile, uint* total) {
  const uint t = get_local_id(0);
  tile[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint delta = 1; delta < 256; delta *= 2) {
    const uint left = t >= delta ? tile[t - delta] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[t] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  *total = tile[255];
  return tile[t];
}

__kernel void scan_blocks(__global const uint* values, __global uint* sums, __global uint* totals) {
  __local uint warps[256];
  const uint at = (get_group_id(0) * 256 + get_local_id(0)) * 4;
  uint v[4], total;
  for (int i = 0; i < 4; ++i) v[i] = values[at + i] + (i > 0 ? v[i - 1] : 0);
  const uint before = ScanBlock(v[3], warps, &total) - v[3];
  for (int i = 0; i < 4; ++i) sums[at + i] = before + v[i];
  if (get_local_id(0) == 0) totals[get_group_id(0)] = total;
}

__kernel void scan_totals(__global uint* totals, uint count) {
  __local uint warps[256];
  uint carry = 0;
  for (uint i = get_local_id(0); i < count; i += 256) {
    uint total;
    const uint sum = ScanBlock(totals[i], warps, &total);
    totals[i] = carry + sum;
    carry += total;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void scan_add(__global uint* sums, __global const uint* totals) {
  if (get_group_id(0) == 0) return;
  const uint before = totals[get_group_id(0) - 1];
  for (uint i = 0; i < 4; ++i) sums[get_group_id(0) * 1024 + i * 256 + get_local_id(0)] += before;
}
