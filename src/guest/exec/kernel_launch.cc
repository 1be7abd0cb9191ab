#include "guest/exec/kernel_launch.h"

namespace tutti::guest {
namespace {

void Unflatten(uint64_t index, const uint32_t extent[3], uint32_t out[3]) {
  if (index < extent[0]) {  // the usual case, without a division
    out[0] = static_cast<uint32_t>(index);
    out[1] = out[2] = 0;
    return;
  }
  out[0] = static_cast<uint32_t>(index % extent[0]);
  out[1] = static_cast<uint32_t>(index / extent[0] % extent[1]);
  out[2] = static_cast<uint32_t>(index / extent[0] / extent[1]);
}

}  // namespace

void KernelLaunch::BlockAt(uint64_t index, uint32_t ctaid[3], uint32_t cluster_ctaid[3]) const {
  const uint32_t per_cluster = cluster_blocks();
  if (per_cluster == 1) {
    Unflatten(index, grid, ctaid);
    cluster_ctaid[0] = cluster_ctaid[1] = cluster_ctaid[2] = 0;
    return;
  }
  const uint32_t clusters[3] = {grid[0] / cluster[0], grid[1] / cluster[1], grid[2] / cluster[2]};
  uint32_t at[3];
  Unflatten(index / per_cluster, clusters, at);
  Unflatten(index % per_cluster, cluster, cluster_ctaid);
  for (int i = 0; i < 3; ++i) ctaid[i] = at[i] * cluster[i] + cluster_ctaid[i];
}

}  // namespace tutti::guest
