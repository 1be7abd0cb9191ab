#include "opencl.h"

#include <cstdlib>

#ifndef TUTTI_HAVE_OPENCL

namespace bench {
std::unique_ptr<OpenCl> OpenCl::Open(std::string* why) {
  *why = "built without OpenCL (package ocl-icd-opencl-dev)";
  return nullptr;
}
}  // namespace bench

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <fmt/format.h>

#include <map>

namespace bench {
namespace {

void Check(cl_int result, const char* what) {
  if (result == CL_SUCCESS) return;
  fmt::print(stderr, "OpenCL: {} failed with {}\n", what, result);
  std::exit(1);
}

class Implementation final : public OpenCl {
 public:
  Implementation(cl_context context, cl_command_queue queue, cl_device_id device)
      : context_(context), queue_(queue), device_(device) {}

  int CreateBuffer(const void* data, size_t bytes) override {
    cl_int result;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data != nullptr ? CL_MEM_COPY_HOST_PTR : 0);
    buffers_.push_back(clCreateBuffer(context_, flags, bytes, const_cast<void*>(data), &result));
    Check(result, "clCreateBuffer");
    return static_cast<int>(buffers_.size()) - 1;
  }

  void Read(int buffer, void* data, size_t bytes) override {
    Check(clEnqueueReadBuffer(queue_, buffers_[static_cast<size_t>(buffer)], CL_TRUE, 0, bytes, data, 0, nullptr,
                              nullptr),
          "clEnqueueReadBuffer");
  }

  void DestroyBuffer(int buffer) override { clReleaseMemObject(buffers_[static_cast<size_t>(buffer)]); }

  void Clear(int buffer, uint32_t word, size_t bytes) override {
    Check(clEnqueueFillBuffer(queue_, buffers_[static_cast<size_t>(buffer)], &word, sizeof word, 0, bytes, 0, nullptr,
                              nullptr),
          "clEnqueueFillBuffer");
  }

  void Finish() override { Check(clFinish(queue_), "clFinish"); }

  void Run(const char* source, const std::string& name, std::span<const Argument> arguments, size_t global_x,
           size_t global_y, size_t local_x, size_t local_y) override {
    cl_kernel& kernel = kernels_[name];
    if (kernel == nullptr) {
      cl_int result;
      kernel = clCreateKernel(Program(source), name.c_str(), &result);
      Check(result, "clCreateKernel");
    }
    for (cl_uint i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      if (argument.buffer >= 0) {
        Check(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers_[static_cast<size_t>(argument.buffer)]),
              "clSetKernelArg");
      } else {
        Check(clSetKernelArg(kernel, i, argument.bytes, argument.data), "clSetKernelArg");
      }
    }
    const size_t global[] = {global_x, global_y}, local[] = {local_x, local_y};
    Check(clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }

 private:
  cl_program Program(const char* source) {
    cl_program& program = programs_[source];
    if (program != nullptr) return program;
    cl_int result;
    program = clCreateProgramWithSource(context_, 1, &source, nullptr, &result);
    Check(result, "clCreateProgramWithSource");
    Check(clBuildProgram(program, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
    return program;
  }

  cl_context context_;
  cl_command_queue queue_;
  cl_device_id device_;
  std::map<const char*, cl_program> programs_;
  std::map<std::string, cl_kernel> kernels_;
  std::vector<cl_mem> buffers_;
};

}  // namespace

std::unique_ptr<OpenCl> OpenCl::Open(std::string* why) {
  cl_uint platforms = 0;
  if (clGetPlatformIDs(0, nullptr, &platforms) != CL_SUCCESS || platforms == 0) {
    *why = "no OpenCL platform (package pocl-opencl-icd)";
    return nullptr;
  }
  std::vector<cl_platform_id> ids(platforms);
  clGetPlatformIDs(platforms, ids.data(), nullptr);
  for (const cl_platform_id platform : ids) {
    cl_device_id device;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) continue;
    cl_int result;
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &result);
    Check(result, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &result);
    Check(result, "clCreateCommandQueue");
    return std::make_unique<Implementation>(context, queue, device);
  }
  *why = "no OpenCL device of type CPU";
  return nullptr;
}

}  // namespace bench

#endif
