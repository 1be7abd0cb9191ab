// Clusters as launches, functions and graphs have them.
#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// Each counts a block of its cluster: out[cluster] += 1, out[63] = blocks of the cluster.
constexpr const char* kClusterPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry any(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %clusterid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d1, %d0, %d1;
  red.global.add.u32 [%d1], 1;
  mov.u32 %r1, %cluster_nctarank;
  st.global.u32 [%d0+252], %r1;
  ret;
}
.visible .entry of_two(.param .u64 out)
.reqnctapercluster 2
.explicitcluster
{
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r1, %cluster_nctarank;
  st.global.u32 [%d0+252], %r1;
  ret;
}
.visible .entry must_be_set(.param .u64 out) .explicitcluster { ret; }
.visible .entry up_to_four(.param .u64 out) .maxclusterrank 4 { ret; }
)";

class ClusterTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&module_, kClusterPtx));
    out_ = Allocate(256);
    CU_ASSERT(cuMemsetD32_v2(out_, 0, 64));
  }
  void TearDown() override {
    CU_EXPECT(cuMemFree_v2(out_));
    CU_EXPECT(cuModuleUnload(module_));
    DriverTest::TearDown();
  }

  CUfunction Named(const char* name) {
    CUfunction function = nullptr;
    CU_EXPECT(cuModuleGetFunction(&function, module_, name));
    return function;
  }
  // With 0: without the attribute.
  CUresult LaunchIn(CUfunction function, unsigned blocks, unsigned cluster) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster, 1, 1};
    const CUlaunchConfig config{blocks, 1, 1, 32, 1, 1, 0, nullptr, &attribute, cluster != 0 ? 1u : 0u};
    void* parameters[] = {&out_};
    return cuLaunchKernelEx(&config, function, parameters, nullptr);
  }
  int AttributeOf(CUfunction function, int attribute) {
    int value = -1;
    CU_EXPECT(cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute), function));
    return value;
  }

  CUmodule module_ = nullptr;
  CUdeviceptr out_ = 0;
};

TEST_F(ClusterTest, LaunchesAreInTheClustersTheyAskFor) {
  CU_ASSERT(LaunchIn(Named("any"), 12, 4));
  std::vector<uint32_t> expected(64);
  for (int i = 0; i < 3; ++i) expected[i] = 4 * 32;
  expected[63] = 4;
  EXPECT_EQ(Read(out_, 64), expected);
  CU_ASSERT(LaunchIn(Named("any"), 1, 0));
  EXPECT_EQ(Read(out_, 64)[63], 1u);
}

TEST_F(ClusterTest, SizesAboveEightMustBeAllowed) {
  const CUfunction any = Named("any");
  CU_EXPECT(LaunchIn(any, 16, 8));
  EXPECT_EQ(LaunchIn(any, 16, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CU_ASSERT(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  CU_EXPECT(LaunchIn(any, 16, 16));
  EXPECT_EQ(Read(out_, 64)[63], 16u);
  EXPECT_EQ(LaunchIn(any, 32, 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(LaunchIn(any, 15, 8), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(ClusterTest, AKernelsOwnClusterHoldsForAllItsLaunches) {
  const CUfunction of_two = Named("of_two");
  CU_ASSERT(LaunchIn(of_two, 6, 0));
  EXPECT_EQ(Read(out_, 64)[63], 2u);
  CU_EXPECT(LaunchIn(of_two, 6, 2));
  EXPECT_EQ(LaunchIn(of_two, 6, 3), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(LaunchIn(of_two, 5, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(AttributeOf(of_two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(AttributeOf(of_two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
  EXPECT_EQ(AttributeOf(of_two, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
  EXPECT_EQ(cuFuncSetAttribute(of_two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4), CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(ClusterTest, AKernelMayAskForClustersOrLimitThem) {
  EXPECT_EQ(LaunchIn(Named("must_be_set"), 4, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CU_EXPECT(LaunchIn(Named("must_be_set"), 4, 2));
  CU_EXPECT(LaunchIn(Named("up_to_four"), 8, 4));
  CU_EXPECT(LaunchIn(Named("up_to_four"), 8, 0));
  EXPECT_EQ(LaunchIn(Named("up_to_four"), 8, 8), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(ClusterTest, AProgramMayGiveAFunctionItsCluster) {
  const CUfunction any = Named("any");
  CU_ASSERT(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
  EXPECT_EQ(LaunchIn(any, 4, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE) << "the other extents are not set yet";
  CU_ASSERT(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
  CU_ASSERT(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
  CU_ASSERT(LaunchIn(any, 4, 0));
  EXPECT_EQ(Read(out_, 64)[63], 2u);
  EXPECT_EQ(AttributeOf(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 256), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ClusterTest, NodesOfGraphsHaveClusters) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  void* parameters[] = {&out_};
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = Named("any");
  p.gridDimX = 8;
  p.blockDimX = 32;
  p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = parameters;
  CU_ASSERT(cuGraphCreate(&graph, 0));
  CU_ASSERT(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &p));
  CUlaunchAttributeValue value{};
  value.clusterDim = {0, 2, 1};
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
            CUDA_ERROR_INVALID_VALUE);
  value.clusterDim = {4, 1, 1};
  CU_ASSERT(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU_ASSERT(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(Read(out_, 64)[63], 4u);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

// Eight blocks of 256 threads are on each SM at a time.
TEST_F(ClusterTest, OccupancyCountsClusters) {
  int sms = 0, clusters = -1, size = -1;
  CU_ASSERT(cuDeviceGetAttribute(&sms, 16, 0));
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {4, 1, 1};
  CUlaunchConfig config{8, 1, 1, 256, 1, 1, 0, nullptr, &attribute, 1};
  const CUfunction any = Named("any");
  CU_ASSERT(cuOccupancyMaxActiveClusters(&clusters, any, &config));
  EXPECT_EQ(clusters, 2 * sms);
  CU_ASSERT(cuOccupancyMaxPotentialClusterSize(&size, any, &config));
  EXPECT_EQ(size, 8);
  attribute.value.clusterDim = {1u << 31, 2, 1};
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&clusters, any, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  config.blockDimX = 2048;
  attribute.value.clusterDim = {4, 1, 1};
  CU_ASSERT(cuOccupancyMaxActiveClusters(&clusters, any, &config));
  EXPECT_EQ(clusters, 0);
}

}  // namespace
}  // namespace tutti::compat
