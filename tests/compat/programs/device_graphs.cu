// Graphs that kernels launch: to be forgotten, at the tail, and beside themselves; in which order, and with what limits.
#include <vector>

#include "program.h"

constexpr auto kForget = 1, kTail = 2, kSibling = 3;

__device__ cudaError_t LaunchAs(int how, cudaGraphExec_t graph) {
  return how == kForget  ? cudaGraphLaunch(graph, cudaStreamGraphFireAndForget)
         : how == kTail  ? cudaGraphLaunch(graph, cudaStreamGraphTailLaunch)
         : cudaGraphLaunch(graph, cudaStreamGraphFireAndForgetAsSibling);
}
__global__ void LaunchOne(int how, cudaGraphExec_t graph, int* error) { *error = LaunchAs(how, graph); }
__global__ void LaunchAll(int how, cudaGraphExec_t* graphs, int count, int* errors) {
  for (int i = 0; i < count; ++i) errors[i] = LaunchAs(how, graphs[i]);
}
__global__ void Set(volatile int* word, int value) { *word = value; }
__global__ void Await(volatile int* word, int value) {
  while (*word != value) __nanosleep(1000);
}
__global__ void Note(int* log, int value) { log[1 + atomicAdd(log, 1)] = value; }
__global__ void AddToEach(int* data, int value) { data[threadIdx.x] += value; }
__global__ void Double(int* data) { data[threadIdx.x] *= 2; }
__global__ void CountTo(int* count, int end, int* error) {
  if (++*count < end) *error = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}
__global__ void WhichGraph(cudaGraphExec_t* graph) { *graph = cudaGetCurrentGraphExec(); }
__global__ void Repeats(cudaGraphExec_t other, int* count, int* error) {
  if (++*count > 1) return;
  const auto self = cudaGetCurrentGraphExec();
  error[0] = cudaGraphLaunch(self, cudaStreamGraphTailLaunch);
  error[1] = cudaGraphLaunch(self, cudaStreamGraphTailLaunch);
  error[2] = cudaGraphLaunch(self, cudaStreamGraphFireAndForget);
  error[3] = cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(0x1234), cudaStreamGraphFireAndForget);
  error[4] = cudaGraphLaunch(other, nullptr);
  error[5] = cudaGetLastError();
}
__global__ void Count(int* count) { atomicAdd(count, 1); }
__global__ void Nothing() {}
__global__ void LaunchKernel(int* error) {
  Nothing<<<1, 1>>>();
  *error = cudaGetLastError();
}

cudaStream_t stream;

// A graph of what `work` submits.
template <typename Work>
cudaGraph_t Captured(Work work) {
  cudaGraph_t graph;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work();
  CUDA(cudaStreamEndCapture(stream, &graph));
  return graph;
}
template <typename Work>
cudaGraphExec_t ForHost(Work work) {
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, Captured(work)));
  return exec;
}
template <typename Work>
cudaGraphExec_t ForDevice(Work work) {
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, Captured(work), cudaGraphInstantiateFlagDeviceLaunch));
  CUDA(cudaGraphUpload(exec, stream));
  return exec;
}
void Run(cudaGraphExec_t exec) {
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
}

struct Words {
  int* data;
  Words() { CUDA(cudaMallocManaged(&data, 4096)); Clear(); }
  ~Words() { CUDA(cudaFree(data)); }
  void Clear() { for (int i = 0; i < 1024; ++i) data[i] = 0; }
};

// While the launching graph runs, whose next kernel waits for it; the launch is over when it is.
void ForgottenGraphsRunBesideTheirLauncher() {
  Words w;
  int *flag = w.data, *error = w.data + 1, *data = w.data + 64, *copy = w.data + 128;
  const auto graph = ForDevice([&] {
    CUDA(cudaMemsetAsync(data, 0, 128, stream));
    AddToEach<<<1, 32, 0, stream>>>(data, 5);
    Set<<<1, 1, 0, stream>>>(flag, 1);
    for (int i = 0; i < 8; ++i) Double<<<1, 32, 0, stream>>>(data);
    CUDA(cudaMemcpyAsync(copy, data, 128, cudaMemcpyDefault, stream));
  });
  for (const bool on_device : {false, true}) {
    const auto launcher = [&] {
      LaunchOne<<<1, 1, 0, stream>>>(kForget, graph, error);
      Await<<<1, 1, 0, stream>>>(flag, 1);
    };
    const auto exec = on_device ? ForDevice(launcher) : ForHost(launcher);
    for (int round = 0; round < 3; ++round) {
      w.Clear();
      Run(exec);
      CHECK_EQ(*error, cudaSuccess);
      CHECK_EQ(copy[0], 5 * 256);
      CHECK_EQ(copy[31], 5 * 256);
    }
    CUDA(cudaGraphExecDestroy(exec));
  }
}

// Behind all of the launching graph and what it has forgotten, in the order of their launches; the tail of one of them
// before the next.
void TailsAreInOrder() {
  Words w;
  int *log = w.data, *errors = w.data + 100;
  cudaGraphExec_t* const graphs = reinterpret_cast<cudaGraphExec_t*>(w.data + 200);
  const auto note = [&](int value) {
    return ForDevice([&] { Note<<<1, 1, 0, stream>>>(log, value); });
  };
  const auto forgotten = note(2), last = note(6), inner = note(5);
  const auto second = ForDevice([&] {
    LaunchOne<<<1, 1, 0, stream>>>(kTail, inner, errors + 5);
    Note<<<1, 1, 0, stream>>>(log, 3);
  });
  for (const bool on_device : {false, true}) {
    const auto launcher = [&] {
      LaunchAll<<<1, 1, 0, stream>>>(kTail, graphs, 2, errors);
      LaunchOne<<<1, 1, 0, stream>>>(kForget, forgotten, errors + 4);
      Note<<<1, 1, 0, stream>>>(log, 1);
    };
    const auto exec = on_device ? ForDevice(launcher) : ForHost(launcher);
    w.Clear();
    graphs[0] = second;
    graphs[1] = last;
    Run(exec);
    for (int i = 0; i < 6; ++i) CHECK_EQ(errors[i], cudaSuccess);
    CHECK_EQ(log[0], 5);
    CHECK_EQ(log[1] + log[2], 3);  // in either order
    CHECK_EQ(log[3], 3);
    CHECK_EQ(log[4], 5);
    CHECK_EQ(log[5], 6);
  }
}

void GraphsGoOnByThemselves() {
  Words w;
  int *count = w.data, *error = w.data + 1;
  const auto exec = ForDevice([&] { CountTo<<<1, 1, 0, stream>>>(count, 500, error); });
  Run(exec);
  CHECK_EQ(*count, 500);
  CHECK_EQ(*error, cudaSuccess);
  // Launched by a kernel, too, and again after that.
  const auto launcher = ForHost([&] { LaunchOne<<<1, 1, 0, stream>>>(kForget, exec, error + 1); });
  for (int round = 0; round < 2; ++round) {
    *count = 0;
    Run(launcher);
    CHECK_EQ(*count, 500);
    CHECK_EQ(error[1], cudaSuccess);
  }
}

// A sibling does not hold up the tail, which lets it end.
void SiblingsDoNotHoldUpTheTail() {
  Words w;
  int *flag = w.data, *errors = w.data + 1;
  const auto waits = ForDevice([&] { Await<<<1, 1, 0, stream>>>(flag, 1); });
  const auto sets = ForDevice([&] { Set<<<1, 1, 0, stream>>>(flag, 1); });
  const auto launcher = [&] {
    LaunchOne<<<1, 1, 0, stream>>>(kSibling, waits, errors);
    LaunchOne<<<1, 1, 0, stream>>>(kTail, sets, errors + 1);
  };
  const auto on_device = ForDevice(launcher), on_host = ForHost(launcher);
  const auto outer = ForHost([&] { LaunchOne<<<1, 1, 0, stream>>>(kForget, on_device, errors + 2); });
  for (const auto exec : {on_device, on_host, outer}) {
    w.Clear();
    Run(exec);
    CHECK_EQ(*flag, 1);
    for (int i = 0; i < 3; ++i) CHECK_EQ(errors[i], cudaSuccess);
  }
}

void MistakesAreErrors() {
  Words w;
  int* const errors = w.data;
  auto* const graph = reinterpret_cast<cudaGraphExec_t*>(w.data + 64);
  const auto other = ForDevice([&] { Nothing<<<1, 1, 0, stream>>>(); });
  const auto twice = ForHost([&] {
    LaunchOne<<<1, 1, 0, stream>>>(kTail, other, errors + 20);
    LaunchOne<<<1, 1, 0, stream>>>(kForget, other, errors + 21);  // it is to run
  });
  Run(twice);
  CHECK_EQ(errors[20], cudaSuccess);
  CHECK_EQ(errors[21], cudaErrorInvalidValue);
  Run(twice);
  CHECK_EQ(errors[20], cudaSuccess);

  LaunchOne<<<1, 1, 0, stream>>>(kForget, other, errors + 22);  // in no graph
  WhichGraph<<<1, 1, 0, stream>>>(graph);
  CUDA(cudaStreamSynchronize(stream));
  CHECK_EQ(errors[22], cudaErrorInvalidValue);
  CHECK_EQ(graph[0], nullptr);
  graph[0] = graph[1] = other;
  const auto asks = ForDevice([&] { WhichGraph<<<1, 1, 0, stream>>>(graph); });
  Run(asks);
  CHECK_EQ(graph[0], asks);
  Run(ForHost([&] { WhichGraph<<<1, 1, 0, stream>>>(graph + 1); }));
  CHECK_EQ(graph[1], nullptr);

  Run(ForDevice([&] { LaunchKernel<<<1, 1, 0, stream>>>(errors + 23); }));
  CHECK_EQ(errors[23], cudaErrorNotSupported);
  CUDA(cudaGraphExecDestroy(other));
  Run(ForHost([&] { LaunchOne<<<1, 1, 0, stream>>>(kForget, other, errors + 24); }));
  CHECK_EQ(errors[24], cudaErrorInvalidValue);
}

void AGraphLaunchesItselfOnceAtATime() {
  Words w;
  int *count = w.data, *errors = w.data + 1;
  const auto other = ForDevice([&] { Nothing<<<1, 1, 0, stream>>>(); });
  const auto exec = ForDevice([&] { Repeats<<<1, 1, 0, stream>>>(other, count, errors); });
  const auto launcher = ForHost([&] { LaunchOne<<<1, 1, 0, stream>>>(kForget, exec, errors + 10); });
  for (const auto run : {exec, launcher}) {
    w.Clear();
    Run(run);
    CHECK_EQ(*count, 2);
    CHECK_EQ(errors[0], cudaSuccess);
    for (int i = 1; i <= 5; ++i) CHECK_EQ(errors[i], cudaErrorInvalidValue);
  }
}

void LaunchesAreLimited() {
  constexpr int kForgotten = 120, kAtTail = 255;
  Words w;
  auto* const graphs = reinterpret_cast<cudaGraphExec_t*>(w.data);
  int *errors = w.data + 600, *count = w.data + 1000;
  for (int i = 0; i <= kAtTail; ++i) graphs[i] = ForDevice([&] { Count<<<1, 1, 0, stream>>>(count); });
  Run(ForHost([&] { LaunchAll<<<1, 1, 0, stream>>>(kForget, graphs, kForgotten + 1, errors); }));
  CHECK_EQ(*count, kForgotten);
  CHECK_EQ(errors[kForgotten - 1], cudaSuccess);
  CHECK_EQ(errors[kForgotten], cudaErrorLaunchPendingCountExceeded);
  *count = 0;
  Run(ForHost([&] { LaunchAll<<<1, 1, 0, stream>>>(kTail, graphs, kAtTail + 1, errors); }));
  CHECK_EQ(*count, kAtTail);
  CHECK_EQ(errors[kAtTail - 1], cudaSuccess);
  CHECK_EQ(errors[kAtTail], cudaErrorLaunchPendingCountExceeded);
}

// Changes by the host are there for kernels once the graph has been uploaded again.
void AnUploadBringsChanges() {
  Words w;
  int *word = w.data, *error = w.data + 1;
  const cudaGraph_t graph = Captured([&] { Set<<<1, 1, 0, stream>>>(word, 1); });
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
  CUDA(cudaGraphUpload(exec, stream));
  const auto launcher = ForHost([&] { LaunchOne<<<1, 1, 0, stream>>>(kForget, exec, error); });
  Run(launcher);
  CHECK_EQ(*word, 1);
  cudaGraphNode_t node;
  size_t nodes = 1;
  CUDA(cudaGraphGetNodes(graph, &node, &nodes));
  cudaKernelNodeParams p;
  CUDA(cudaGraphKernelNodeGetParams(node, &p));
  int value = 7;
  void* arguments[] = {&word, &value};
  p.kernelParams = arguments;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &p));
  CUDA(cudaGraphUpload(exec, stream));
  Run(launcher);
  CHECK_EQ(*word, 7);
  value = 9;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &p));
  Run(exec);  // uploads it, too
  CHECK_EQ(*word, 9);
  *word = 0;
  Run(launcher);
  CHECK_EQ(*word, 9);
  CUDA(cudaGraphNodeSetEnabled(exec, node, 0));
  *word = 0;
  Run(exec);
  CHECK_EQ(*word, 0);
}

void OnlySomeGraphsCanBeLaunchedByKernels() {
  cudaGraphExec_t exec;
  const auto refused = [&](cudaGraph_t graph, cudaGraphInstantiateResult result, bool names_node) {
    cudaGraphInstantiateParams p{};
    p.flags = cudaGraphInstantiateFlagDeviceLaunch;
    const cudaError_t error = cudaGraphInstantiateWithParams(&exec, graph, &p);
    CHECK_EQ(p.result_out, result);
    CHECK_EQ(p.errNode_out != nullptr, names_node);
    cudaGetLastError();
    return error;
  };
  int word = 0, *device;
  CUDA(cudaMalloc(&device, 4));
  const auto host = Captured([&] { CUDA(cudaLaunchHostFunc(stream, [](void*) {}, nullptr)); });
  CHECK_EQ(refused(host, cudaGraphInstantiateNodeOperationNotSupported, true), cudaErrorNotSupported);
  const auto copy = Captured([&] { CUDA(cudaMemcpyAsync(device, &word, 4, cudaMemcpyDefault, stream)); });
  CHECK_EQ(refused(copy, cudaGraphInstantiateNodeOperationNotSupported, true), cudaErrorNotSupported);
  const auto empty = Captured([] {});
  CHECK_EQ(refused(empty, cudaGraphInstantiateInvalidStructure, false), cudaErrorInvalidValue);
  const auto good = Captured([&] { Nothing<<<1, 1, 0, stream>>>(); });
  CHECK_EQ(cudaGraphInstantiate(&exec, good, cudaGraphInstantiateFlagDeviceLaunch |
                                                 cudaGraphInstantiateFlagAutoFreeOnLaunch), cudaErrorInvalidValue);
  cudaGetLastError();
}

int main() {
  CUDA(cudaStreamCreate(&stream));
  ForgottenGraphsRunBesideTheirLauncher();
  TailsAreInOrder();
  GraphsGoOnByThemselves();
  SiblingsDoNotHoldUpTheTail();
  MistakesAreErrors();
  AGraphLaunchesItselfOnceAtATime();
  LaunchesAreLimited();
  AnUploadBringsChanges();
  OnlySomeGraphsCanBeLaunchedByKernels();
  return Verdict();
}
