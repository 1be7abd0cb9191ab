// Heat flows along a rod, of which each MPI rank has one piece: the device computes each step, then neighbouring ranks
// exchange the points at their ends. All ranks of a node share its devices through the daemon; rank r of a node takes
// device r modulo their number.
//
//   --ipc   the ranks read each other's device memory, in place of sending points through host memory
#include <mpi.h>

#include <cstring>
#include <memory>

#include "../common/driver_program.h"
#include "problem.h"
#include "shared_rods.h"

EMBED_TEXT(ptx, "7_mpi/heat.ptx");

namespace {

int DeviceOfThisRank() {
  MPI_Comm node;
  int local_rank = 0, devices = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_free(&node);
  CHECK_CU(cuInit(0));
  CHECK_CU(cuDeviceGetCount(&devices));
  if (devices > 0) return local_rank % devices;
  std::fprintf(stderr, "no device\n");
  std::exit(2);
}

// A rank's points with one of each neighbour at both ends.
class Piece {
 public:
  Piece(int rank, int ranks, bool ipc)
      : left_(rank > 0 ? rank - 1 : MPI_PROC_NULL),
        right_(rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL),
        now_(Start(rank, ranks)),
        next_(now_.Read()) {
    if (ipc) shared_ = std::make_unique<heat::SharedRods>(CUdeviceptrs{now_.address(), next_.address()}, left_, right_);
  }

  void Step(driver::Program& program, uint32_t blocks) {
    driver::Buffer<float>& from = odd_ ? next_ : now_;
    driver::Buffer<float>& to = odd_ ? now_ : next_;
    program.Run(blocks, heat::kThreads, 1, from.address(), to.address(), heat::kPointsPerRank);
    odd_ = !odd_;
    if (shared_ != nullptr) return shared_->Exchange(to.address(), odd_ ? 1 : 0);
    Exchange(to.address());
  }
  std::vector<float> Read() const { return (odd_ ? next_ : now_).Read(); }

 private:
  using CUdeviceptrs = CUdeviceptr[2];

  static std::vector<float> Start(int rank, int ranks) {
    const uint64_t points = uint64_t{heat::kPointsPerRank} * static_cast<uint64_t>(ranks);
    const uint64_t first = uint64_t{heat::kPointsPerRank} * static_cast<uint64_t>(rank);
    std::vector<float> values(heat::kPointsPerRank + 2);
    for (uint64_t i = 0; i < values.size(); ++i)
      values[i] = first + i == 0 || first + i > points ? 0.0f : heat::Start(first + i);
    return values;
  }

  void Exchange(CUdeviceptr rod) {
    const auto point = [rod](uint32_t i) { return rod + i * sizeof(float); };
    float first = 0, last = 0, from_left = 0, from_right = 0;
    CHECK_CU(cuMemcpyDtoH_v2(&first, point(1), sizeof first));
    CHECK_CU(cuMemcpyDtoH_v2(&last, point(heat::kPointsPerRank), sizeof last));
    MPI_Sendrecv(&first, 1, MPI_FLOAT, left_, 0, &from_right, 1, MPI_FLOAT, right_, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&last, 1, MPI_FLOAT, right_, 1, &from_left, 1, MPI_FLOAT, left_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_CU(cuMemcpyHtoD_v2(point(0), &from_left, sizeof from_left));
    CHECK_CU(cuMemcpyHtoD_v2(point(heat::kPointsPerRank + 1), &from_right, sizeof from_right));
  }

  int left_, right_;
  driver::Buffer<float> now_, next_;
  std::unique_ptr<heat::SharedRods> shared_;
  bool odd_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool ipc = argc > 1 && std::strcmp(argv[1], "--ipc") == 0;
  if (ipc) argv[1] = argv[0];
  const example::Options options = example::Parse(argc - ipc, argv + ipc, heat::kDefaults);
  const int device = DeviceOfThisRank();
  int status = 0;
  {
    driver::Program program(ptx, "heat_step", device);
    Piece piece(rank, ranks, ipc);
    example::Loop loop({.rounds = options.rounds});  // all ranks must make the same number of steps
    while (loop.Next()) piece.Step(program, options.blocks);
    const double seconds = loop.Seconds();

    const std::vector<float> got = piece.Read();
    const std::vector<float> expected =
        heat::Expected(uint64_t{heat::kPointsPerRank} * static_cast<uint64_t>(ranks), options.rounds);
    uint64_t wrong = 0;
    for (uint32_t i = 1; i <= heat::kPointsPerRank; ++i) {
      wrong += got[i] != expected[heat::kPointsPerRank * static_cast<uint64_t>(rank) + i];
    }
    uint64_t wrong_of_all = 0;
    MPI_Reduce(&wrong, &wrong_of_all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    std::printf("rank %d of %d used device %d\n", rank, ranks, device);
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      status =
          example::Report("heat", loop, seconds, heat::kPointsPerRank * static_cast<uint64_t>(ranks), wrong_of_all);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
