// A child forked from a process that uses CUDA cannot; its parent goes on.
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

__global__ void Add(int* data) { ++*data; }

int main() {
  int *data, host = 1;
  CUDA(cudaMalloc(&data, sizeof(int)));
  CUDA(cudaMemcpy(data, &host, sizeof host, cudaMemcpyHostToDevice));
  const pid_t child = fork();
  if (child == 0) _exit(cudaMalloc(&data, 4) == cudaErrorInitializationError ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(WIFEXITED(status) && WEXITSTATUS(status) == 0, true);
  Add<<<1, 1>>>(data);
  CUDA(cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost));
  CHECK_EQ(host, 2);
  return Verdict();
}
