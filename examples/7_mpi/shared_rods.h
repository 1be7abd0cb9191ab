// The neighbours' rods at addresses of this rank, through CUDA IPC: a point at an end is one copy from device to
// device, and no rank's points go through host memory.
#pragma once

#include <mpi.h>

#include "../common/driver_program.h"
#include "problem.h"

extern "C" {
struct CUipcMemHandle {
  char reserved[64];
};
int cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address);
int cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags);
int cuIpcCloseMemHandle(CUdeviceptr address);
int cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes);
}

namespace heat {

class SharedRods {
 public:
  // `rods`: this rank's two. `left` and `right` are ranks, or MPI_PROC_NULL.
  SharedRods(const CUdeviceptr (&rods)[2], int left, int right) : left_(left), right_(right) {
    Handles mine, from_left, from_right;
    for (int i = 0; i < 2; ++i) CHECK_CU(cuIpcGetMemHandle(&mine.rods[i], rods[i]));
    Swap(&mine, left_, &from_right, right_);
    Swap(&mine, right_, &from_left, left_);
    for (int i = 0; i < 2; ++i) {
      lefts_[i] = Open(from_left.rods[i], left_);
      rights_[i] = Open(from_right.rods[i], right_);
    }
  }
  // The neighbours may still read.
  ~SharedRods() {
    for (const CUdeviceptr rod : {lefts_[0], lefts_[1], rights_[0], rights_[1]}) {
      if (rod != 0) CHECK_CU(cuIpcCloseMemHandle(rod));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  SharedRods(const SharedRods&) = delete;

  // Gets the neighbours' points for rod `which`, which all have computed by now as far as they are concerned. A rod is
  // written again two steps later: by then its readers have said, by the swap in between, that they are done.
  void Exchange(CUdeviceptr rod, int which) {
    char said = 0, heard = 0;
    MPI_Sendrecv(&said, 1, MPI_CHAR, left_, 2, &heard, 1, MPI_CHAR, right_, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&said, 1, MPI_CHAR, right_, 3, &heard, 1, MPI_CHAR, left_, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (lefts_[which] != 0) CHECK_CU(cuMemcpyDtoD_v2(rod, Point(lefts_[which], kPointsPerRank), sizeof(float)));
    if (rights_[which] != 0)
      CHECK_CU(cuMemcpyDtoD_v2(Point(rod, kPointsPerRank + 1), Point(rights_[which], 1), sizeof(float)));
    CHECK_CU(cuCtxSynchronize());
  }

 private:
  struct Handles {
    CUipcMemHandle rods[2];
  };
  static CUdeviceptr Point(CUdeviceptr rod, uint32_t i) { return rod + i * sizeof(float); }
  static void Swap(Handles* mine, int to, Handles* theirs, int from) {
    MPI_Sendrecv(mine, sizeof *mine, MPI_BYTE, to, 4, theirs, sizeof *theirs, MPI_BYTE, from, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  static CUdeviceptr Open(const CUipcMemHandle& handle, int rank) {
    constexpr unsigned kLazyPeerAccess = 1;
    CUdeviceptr rod = 0;
    if (rank != MPI_PROC_NULL) CHECK_CU(cuIpcOpenMemHandle_v2(&rod, handle, kLazyPeerAccess));
    return rod;
  }

  const int left_, right_;
  CUdeviceptr lefts_[2] = {0, 0}, rights_[2] = {0, 0};
};

}  // namespace heat
