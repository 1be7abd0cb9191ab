// plugin: the device plugin with 8 devices of 48 replicas, called as a kubelet calls it: latency of Allocate, beside an
// empty call on the same connection; the plugin's memory.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "device_plugin.grpc.pb.h"
#include "report.h"
#include "timing.h"

extern char** environ;

namespace {

constexpr int kDevices = 8, kReplicas = 48;

class Kubelet final : public v1beta1::Registration::Service {
 public:
  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request, v1beta1::Empty*) override {
    const std::lock_guard lock(mutex_);
    endpoint_ = request->endpoint();
    changed_.notify_all();
    return grpc::Status::OK;
  }
  std::string WaitForPlugin() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !endpoint_.empty(); });
    return endpoint_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string endpoint_;
};

pid_t Start(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t child = -1;
  if (posix_spawn(&child, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) return -1;
  return child;
}

double ResidentMiB(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

[[noreturn]] void Stop(const std::string& text) {
  fmt::print(stderr, "plugin: {}\n", text);
  std::exit(1);
}

// The daemon that the plugin has started outlives it by design.
void EndDaemon(const std::string& root) {
  std::ifstream file(root + "/nvidia.com/gpu/pipe/nvidia-cuda-mps-control.pid");
  pid_t pid = 0;
  if (file >> pid && pid > 1) kill(pid, SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const size_t calls = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5000;
  const std::string self = argv[0];
  const std::string bin = self.substr(0, self.rfind('/') + 1) + "../bin";
  char work[] = "/tmp/tutti-bench.XXXXXX";
  if (mkdtemp(work) == nullptr) Stop("mkdtemp failed");
  const std::string directory = work;
  std::ofstream(directory + "/config.yaml")
      << fmt::format("sharing: {{mps: {{resources: [{{name: gpu, replicas: {}}}]}}}}\n", kReplicas);
  setenv("TUTTI_CPU_DEVICES", std::to_string(kDevices).c_str(), 1);
  setenv("TUTTI_CPU_SMS", "1", 1);
  setenv("TUTTI_CPU_MEMORY", "256M", 1);
  setenv("TUTTI_LOG_LEVEL", "error", 1);

  Kubelet kubelet;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix://" + directory + "/kubelet.sock", grpc::InsecureServerCredentials());
  builder.RegisterService(&kubelet);
  const auto server = builder.BuildAndStart();
  const pid_t plugin = Start({bin + "/tutti-device-plugin", "--config-file", directory + "/config.yaml", "--mps-root",
                              directory + "/mps", "--kubelet-directory", directory});
  const std::string endpoint = kubelet.WaitForPlugin();
  if (endpoint.empty()) Stop("the plugin did not register");
  const auto stub = v1beta1::DevicePlugin::NewStub(
      grpc::CreateChannel("unix://" + directory + "/" + endpoint, grpc::InsecureChannelCredentials()));

  v1beta1::ListAndWatchResponse devices;
  {
    grpc::ClientContext call;
    const auto stream = stub->ListAndWatch(&call, {});
    if (!stream->Read(&devices) || devices.devices_size() != kDevices * kReplicas)
      Stop(fmt::format("{} devices are listed", devices.devices_size()));
    call.TryCancel();
  }
  size_t next = 0;
  auto allocate = bench::TimeEach(calls, [&] {
    grpc::ClientContext call;
    v1beta1::AllocateRequest request;
    v1beta1::AllocateResponse response;
    request.add_container_requests()->add_devices_ids(
        devices.devices(static_cast<int>(next++ % devices.devices().size())).id());
    if (!stub->Allocate(&call, request, &response).ok()) Stop("Allocate failed");
  });
  auto nothing = bench::TimeEach(calls, [&] {
    grpc::ClientContext call;
    v1beta1::PreStartContainerResponse response;
    if (!stub->PreStartContainer(&call, {}, &response).ok()) Stop("PreStartContainer failed");
  });
  const bench::Statistics with = bench::Summarize(allocate), without = bench::Summarize(nothing);
  bench::Report report("plugin", "ratio: Allocate / a call that does nothing; 8 devices of 48 replicas");
  report.Add({"Allocate p50", with.median / 1e3, "us", without.median / 1e3, "PreStartContainer",
              with.median / without.median, with.spread});
  report.Add({"Allocate p99", with.p99 / 1e3, "us", without.p99 / 1e3, "PreStartContainer", with.p99 / without.p99, 0});
  report.Add({"memory of the plugin", ResidentMiB(plugin), "MiB", ResidentMiB(getpid()), "this gRPC client",
              ResidentMiB(plugin) / ResidentMiB(getpid()), 0});
  kill(plugin, SIGTERM);
  waitpid(plugin, nullptr, 0);
  EndDaemon(directory + "/mps");
  server->Shutdown();
  std::filesystem::remove_all(directory);
  return report.Finish(out);
}
