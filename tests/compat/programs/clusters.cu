// Thread block clusters, as programs for Hopper use them: a histogram over the shared memory of a cluster, a reduction in
// it, values and atomics handed around a ring, and what the runtime says about clusters.
#include <cooperative_groups.h>

#include <vector>

#include "program.h"

namespace cg = cooperative_groups;

constexpr int kBins = 512, kThreads = 256, kCount = 1 << 16;

// Each block holds a part of the bins; all blocks of the cluster count in all parts.
__global__ void Histogram(const unsigned* values, int n, unsigned* bins, int bins_per_block) {
  extern __shared__ unsigned part[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) part[i] = 0;
  cluster.sync();
  for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().num_threads()) {
    const unsigned bin = values[i] % kBins;
    unsigned* const there = cluster.map_shared_rank(part, bin / bins_per_block);
    atomicAdd(there + bin % bins_per_block, 1);
  }
  cluster.sync();
  unsigned* const mine = bins + cluster.block_rank() * bins_per_block;
  for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(&mine[i], part[i]);
}

// One sum for each cluster: the first block adds up what the others have.
__global__ void __cluster_dims__(4, 1, 1) Sum(const unsigned* values, unsigned long long* sums) {
  __shared__ unsigned long long partial;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) partial = 0;
  __syncthreads();
  atomicAdd(&partial, static_cast<unsigned long long>(values[blockIdx.x * blockDim.x + threadIdx.x]));
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < cluster.num_blocks()) {
    const unsigned long long other = *cluster.map_shared_rank(&partial, threadIdx.x);
    atomicAdd(&sums[blockIdx.x / cluster.num_blocks()], other);
  }
  cluster.sync();
}

// A token goes around the ring of blocks: each waits for it in its own memory and passes it on to the next one's.
__global__ void Ring(unsigned* out, int rounds) {
  __shared__ unsigned token;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) token = 0;
  cluster.sync();
  if (threadIdx.x == 0) {
    const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
    unsigned* const next = cluster.map_shared_rank(&token, (rank + 1) % blocks);
    for (int round = 0; round < rounds; ++round) {
      const unsigned awaited = round * blocks + rank;
      while (atomicAdd(&token, 0) < awaited) {
      }
      atomicMax(next, awaited + 1);
    }
  }
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = token;
}

// Arrives, does something else, and waits; ranks and queries.
__global__ void Split(unsigned* out) {
  __shared__ unsigned value;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) value = 100 + cluster.block_rank();
  auto token = cluster.barrier_arrive();
  const unsigned own = cluster.query_shared_rank(&value);
  cluster.barrier_wait(static_cast<decltype(token)&&>(token));
  const unsigned other_rank = (cluster.block_rank() + 1) % cluster.num_blocks();
  unsigned* const other = cluster.map_shared_rank(&value, other_rank);
  if (threadIdx.x == 0)
    out[blockIdx.y * gridDim.x + blockIdx.x] = *other + 1000 * own + 10000 * cluster.query_shared_rank(other);
  cluster.sync();
}

template <typename... Parameters, typename... Arguments>
cudaError_t LaunchInClusters(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared, dim3 cluster,
                             Arguments... arguments) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <typename T>
std::vector<T> Read(const T* data, size_t count) {
  std::vector<T> host(count);
  CUDA(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

int main() {
  int supported = 0;
  CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, 0));
  CHECK_EQ(supported, 1);

  std::vector<unsigned> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = static_cast<unsigned>(i) * 2654435761u >> 7;
  unsigned *in, *out;
  unsigned long long* sums;
  CUDA(cudaMalloc(&in, kCount * sizeof(unsigned)));
  CUDA(cudaMalloc(&out, kBins * sizeof(unsigned)));
  CUDA(cudaMalloc(&sums, kCount / kThreads / 4 * sizeof(unsigned long long)));
  CUDA(cudaMemcpy(in, values.data(), kCount * sizeof(unsigned), cudaMemcpyHostToDevice));

  std::vector<unsigned> expected(kBins);
  for (const unsigned value : values) ++expected[value % kBins];
  CUDA(cudaFuncSetAttribute(Histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (const int blocks : {1, 2, 4, 8, 16}) {
    CUDA(cudaMemset(out, 0, kBins * sizeof(unsigned)));
    CUDA(LaunchInClusters(Histogram, dim3(32), dim3(kThreads), kBins / blocks * sizeof(unsigned), dim3(blocks), in,
                          kCount, out, kBins / blocks));
    CUDA(cudaDeviceSynchronize());
    CHECK_EQ(Read(out, kBins) == expected, true);
  }

  CUDA(cudaMemset(sums, 0, kCount / kThreads / 4 * sizeof(unsigned long long)));
  Sum<<<kCount / kThreads, kThreads>>>(in, sums);
  CUDA(cudaDeviceSynchronize());
  const std::vector<unsigned long long> found = Read(sums, kCount / kThreads / 4);
  for (size_t i = 0; i < found.size(); ++i) {
    unsigned long long sum = 0;
    for (int j = 0; j < 4 * kThreads; ++j) sum += values[i * 4 * kThreads + j];
    CHECK_EQ(found[i], sum);
  }

  constexpr int kRounds = 50;
  CUDA(LaunchInClusters(Ring, dim3(24), dim3(64), 0, dim3(8), out, kRounds));
  CUDA(cudaDeviceSynchronize());
  const std::vector<unsigned> tokens = Read(out, 24);
  for (unsigned block = 0; block < 24; ++block)
    CHECK_EQ(tokens[block], block % 8 == 0 ? 8u * kRounds : (kRounds - 1) * 8 + block % 8);

  CUDA(LaunchInClusters(Split, dim3(6, 4), dim3(96), 0, dim3(3, 2), out));
  CUDA(cudaDeviceSynchronize());
  const std::vector<unsigned> splits = Read(out, 24);
  for (unsigned y = 0; y < 4; ++y) {
    for (unsigned x = 0; x < 6; ++x) {
      const unsigned rank = x % 3 + 3 * (y % 2), next = (rank + 1) % 6;
      CHECK_EQ(splits[y * 6 + x], 100 + next + 1000 * rank + 10000 * next);
    }
  }

  // What is refused, and what is said.
  CHECK_EQ(LaunchInClusters(Split, dim3(16), dim3(32), 0, dim3(16), out), cudaErrorInvalidClusterSize);
  cudaGetLastError();
  CHECK_EQ(LaunchInClusters(Split, dim3(7), dim3(32), 0, dim3(2), out), cudaErrorInvalidClusterSize);
  cudaGetLastError();
  CHECK_EQ(LaunchInClusters(Sum, dim3(8), dim3(32), 0, dim3(2), in, sums), cudaErrorInvalidClusterSize);
  cudaGetLastError();
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(16);
  config.blockDim = dim3(kThreads);
  int most = 0;
  CUDA(cudaOccupancyMaxPotentialClusterSize(&most, Split, &config));
  CHECK_EQ(most, 8);
  CUDA(cudaOccupancyMaxPotentialClusterSize(&most, Histogram, &config));
  CHECK_EQ(most, 16);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 8;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int active = 0, sms = 0;
  CUDA(cudaOccupancyMaxActiveClusters(&active, Split, &config));
  CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  CHECK_EQ(active, sms);  // eight blocks of 256 threads on each
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, Sum));
  CHECK_EQ(attributes.requiredClusterWidth, 4);
  CHECK_EQ(attributes.requiredClusterHeight, 1);
  CHECK_EQ(attributes.requiredClusterDepth, 1);
  return Verdict();
}
