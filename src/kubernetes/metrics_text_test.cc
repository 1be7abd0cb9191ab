#include "kubernetes/metrics_text.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

namespace tutti::kubernetes {
namespace {

// Two clients of one device: one in a pod that holds replica 2, one outside of pods. A second pod holds a replica and
// has no process.
Measured Example() {
  Measured measured;
  measured.report = control::ParseReport(R"({"daemon": {"pid": 1}, "servers": [{"pid": 9, "uid": 0, "state": "ACTIVE",
    "devices": [{"ordinal": 0, "uuid": "GPU-a", "name": "CPU", "total_bytes": 1073741824, "sm_count": 2, "pci": "00000000:01:00.0"}],
    "clients": [
      {"pid": 11, "id": 1, "device": 0, "share": 0.25, "active_thread_percentage": 25, "used_bytes": 104857600, "limit_bytes": 268435456,
       "counters": {"device_ns": 1500000000, "launches": 7, "memory_limit_hits": 2, "queue_wait_ns": 500000000, "memory_bytes": 104857600}},
      {"pid": 12, "id": 2, "device": 0, "share": 0.5, "used_bytes": 1048576}]}]})")
                        .value();
  PodContainer busy{"default", "busy", "uid-1", "main", {}, {{"nvidia.com/gpu", "GPU-a::2"}}};
  PodContainer idle{"default", "idle", "", "main", {}, {{"nvidia.com/gpu", "GPU-a::3"}}};
  measured.owners = {busy, std::nullopt};
  measured.holders = {busy, idle};
  measured.host = "node-1";
  return measured;
}

std::string Text(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

void ExpectLine(const std::string& text, const std::string& line) {
  EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\nin\n" << text;
}

TEST(Metrics, EachClientIsNamedByItsPod) {
  const std::string text = Text(OwnFamilies(Example()));
  const std::string labels =
      R"({UUID="GPU-a",gpu="0",pid="11",client="9-1",uid="0",namespace="default",pod="busy",pod_uid="uid-1",container="main",vgpu="2"})";
  ExpectLine(text, "tutti_client_device_seconds_total" + labels + " 1.5");
  ExpectLine(text, "tutti_client_queue_wait_seconds_total" + labels + " 0.5");
  ExpectLine(text, "tutti_client_launches_total" + labels + " 7");
  ExpectLine(text, "tutti_client_memory_limit_hits_total" + labels + " 2");
  ExpectLine(text, "tutti_client_active_thread_ratio" + labels + " 0.25");
  ExpectLine(text, "tutti_client_device_ratio" + labels + " 0.25");
  ExpectLine(text, "tutti_client_memory_limit_bytes" + labels + " 268435456");
  ExpectLine(text, "# TYPE tutti_client_launches_total counter");
  ExpectLine(text, R"(tutti_device_memory_used_bytes{UUID="GPU-a",gpu="0"} 105906176)");
}

TEST(Metrics, AClientOnTwoDevicesHasAValueOfEach) {
  Measured measured;
  measured.report = control::ParseReport(R"({"daemon": {"pid": 1}, "servers": [{"pid": 9, "uid": 0, "state": "ACTIVE",
    "devices": [{"ordinal": 0, "uuid": "GPU-a", "total_bytes": 1073741824}, {"ordinal": 1, "uuid": "GPU-b", "total_bytes": 1073741824}],
    "clients": [
      {"pid": 11, "id": 1, "device": 0, "used_bytes": 300, "counters": {"device_ns": 1500000000, "launches": 7}},
      {"pid": 11, "id": 1, "device": 1, "used_bytes": 100, "counters": {"device_ns": 500000000, "launches": 2}}]}]})")
                        .value();
  measured.owners = {std::nullopt, std::nullopt};
  const std::string text = Text(OwnFamilies(measured));
  const std::string
      first =
          R"({UUID="GPU-a",gpu="0",pid="11",client="9-1",uid="0",namespace="",pod="",pod_uid="",container="",vgpu="")",
      second =
          R"({UUID="GPU-b",gpu="1",pid="11",client="9-1",uid="0",namespace="",pod="",pod_uid="",container="",vgpu="")";
  ExpectLine(text, "tutti_client_device_seconds_total" + first + "} 1.5");
  ExpectLine(text, "tutti_client_device_seconds_total" + second + "} 0.5");
  ExpectLine(text, "tutti_client_launches_total" + first + "} 7");
  ExpectLine(text, "tutti_client_launches_total" + second + "} 2");
  ExpectLine(text, R"(tutti_device_memory_used_bytes{UUID="GPU-a",gpu="0"} 300)");
  ExpectLine(text, R"(tutti_device_memory_used_bytes{UUID="GPU-b",gpu="1"} 100)");
}

TEST(Metrics, DcgmsSeriesHaveEachPodsOwnValue) {
  const std::string text = Text(DcgmFamilies(Example()));
  const std::string device =
      R"(gpu="0",UUID="GPU-a",pci_bus_id="00000000:01:00.0",device="nvidia0",modelName="CPU",Hostname="node-1",DCGM_FI_DRIVER_VERSION=")" TUTTI_VERSION
      "\"";
  ExpectLine(text,
             "DCGM_FI_DEV_GPU_UTIL{" + device + R"(,container="main",namespace="default",pod="busy",vgpu="2"} 25)");
  ExpectLine(text,
             "DCGM_FI_DEV_FB_USED{" + device + R"(,container="main",namespace="default",pod="busy",vgpu="2"} 100)");
  ExpectLine(text,
             "DCGM_FI_DEV_GPU_UTIL{" + device + R"(,container="main",namespace="default",pod="idle",vgpu="3"} 0)");
  ExpectLine(text, "DCGM_FI_DEV_FB_USED{" + device + "} 1");
  ExpectLine(text, "DCGM_FI_PROF_SM_ACTIVE{" + device + "} 0.5");
}

TEST(Metrics, DcgmsMemoryIsTheDevicesInMiB) {
  const std::string text = Text(DcgmFamilies(Example()));
  const auto value = [&](const std::string& name) {
    const size_t at = text.find("\n" + name + "{");
    return at == std::string::npos
               ? "none"
               : text.substr(text.find("} ", at) + 2, text.find('\n', at + 1) - text.find("} ", at) - 2);
  };
  EXPECT_EQ(value("DCGM_FI_DEV_FB_TOTAL"), "1024");
  EXPECT_EQ(value("DCGM_FI_DEV_FB_FREE"), "923") << "what all have left, not what one has";
  EXPECT_EQ(value("DCGM_FI_DEV_FB_RESERVED"), "0");
  EXPECT_EQ(value("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), "0.25");
}

TEST(Metrics, AMissingDaemonIsAValueNotAnError) {
  const std::string text = Text(OwnFamilies({}));
  ExpectLine(text, "tutti_daemon_up 0");
  EXPECT_TRUE(DcgmFamilies({}).empty());
}

}  // namespace
}  // namespace tutti::kubernetes
