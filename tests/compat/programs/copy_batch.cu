// Many pieces copied by one call: in, to each other's places, as boxes, and out; sources of the stack included.
#include "program.h"

#include <vector>

#if CUDART_VERSION >= 13000

__global__ void Double(int* data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] *= 2;
}

int main() {
  constexpr int kPieces = 8, kCount = 1000;
  constexpr size_t kBytes = kCount * sizeof(int);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  std::vector<std::vector<int>> in(kPieces, std::vector<int>(kCount)), out = in;
  std::vector<void*> on_device, back;
  std::vector<const void*> sources, of_device;
  const std::vector<size_t> sizes(kPieces, kBytes);
  for (int p = 0; p < kPieces; ++p) {
    for (int i = 0; i < kCount; ++i) in[p][i] = p * kCount + i;
    int* data;
    CUDA(cudaMalloc(&data, kBytes));
    on_device.push_back(data);
    of_device.push_back(data);
    sources.push_back(in[p].data());
    back.push_back(out[p].data());
  }
  cudaMemcpyAttributes order[2] = {};
  order[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  order[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t starts[2] = {0, kPieces / 2};
  CUDA(cudaMemcpyBatchAsync(on_device.data(), sources.data(), sizes.data(), kPieces, order, starts, 2, stream));
  for (void* data : on_device) Double<<<1, 128, 0, stream>>>(static_cast<int*>(data), kCount);
  size_t all[1] = {0};
  CUDA(cudaMemcpyBatchAsync(back.data(), of_device.data(), sizes.data(), kPieces, order + 1, all, 1, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int p = 0; p < kPieces; ++p) {
    for (int i = 0; i < kCount; ++i) CHECK_EQ(out[p][i], 2 * (p * kCount + i));
  }

  // The left halves of 10 rows of 100 of the first piece, packed into the second.
  cudaMemcpy3DBatchOp box = {};
  box.src.type = box.dst.type = cudaMemcpyOperandTypePointer;
  box.src.op.ptr.ptr = on_device[0];
  box.src.op.ptr.rowLength = 100 * sizeof(int);
  box.dst.op.ptr.ptr = on_device[1];
  box.extent = make_cudaExtent(50 * sizeof(int), 10, 1);
  box.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CUDA(cudaMemcpy3DBatchAsync(1, &box, 0, stream));
  CUDA(cudaMemcpyAsync(out[1].data(), on_device[1], kBytes, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int i = 0; i < 500; ++i) CHECK_EQ(out[1][i], 2 * (i / 50 * 100 + i % 50));

  int* managed;
  CUDA(cudaMallocManaged(&managed, kBytes));
  void* ranges[1] = {managed};
  size_t bytes[1] = {kBytes};
  cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
  CUDA(cudaMemPrefetchBatchAsync(ranges, bytes, 1, &device, all, 1, 0, stream));
  CUDA(cudaMemDiscardBatchAsync(ranges, bytes, 1, 0, stream));

  // A wrong copy in the middle: nothing is copied.
  CUDA(cudaMemset(on_device[0], 0, kBytes));
  on_device[4] = nullptr;
  CHECK_EQ(cudaMemcpyBatchAsync(on_device.data(), sources.data(), sizes.data(), kPieces, order + 1, all, 1, stream),
           cudaErrorInvalidValue);
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemcpy(out[0].data(), of_device[0], kBytes, cudaMemcpyDeviceToHost));
  for (int value : out[0]) CHECK_EQ(value, 0);
  return Verdict();
}

#else
int main() { return 0; }  // this runtime has another form of the calls
#endif
