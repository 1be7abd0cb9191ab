"""A pod's metrics, the share that its annotations ask for, the labels of its node. Pods are stand-ins; their processes are
real clients of a real daemon."""
import os
import re
import socket
import subprocess
import unittest
import urllib.request

from kubelet import Kubelet
from node import MPS_FOUR, Node, until
from runtime import Pods

BIN, FAKES = os.environ["TUTTI_BIN"], os.environ["TUTTI_FAKES"]
UUID = "GPU-cb1213a3-d6a4-be7f-0000-000000000000"  # of the fake server's device, 1 GiB


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PodTest(unittest.TestCase):
    def setUp(self):
        self.node = Node(BIN, FAKES)
        self.addCleanup(self.node.__exit__, None, None, None)
        self.kubelet = Kubelet(self.node.kubelet_directory)
        self.addCleanup(lambda: self.kubelet.stop())
        self.pods = Pods(self.node.work)
        self.addCleanup(self.pods.stop)
        self.port = free_port()
        self.features = os.path.join(self.node.work, "features")

    def start(self, config):
        self.node.start(config, "--runtime-socket", self.pods.runtime_socket, "--pod-resources-socket", self.pods.resources_socket,
                        "--proc-directory", self.pods.proc, "--metrics-address", "127.0.0.1:%d" % self.port, "--feature-file", self.features)
        self.kubelet.plugin().close()

    def client(self, cgroup):
        environment = dict(self.node.environment, CUDA_MPS_PIPE_DIRECTORY=self.node.pipe_directories()[0])
        client = subprocess.Popen([os.path.join(FAKES, "fake_client"), "--hold"], env=environment, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        self.addCleanup(client.stdin.close)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.pods.put(client.pid, cgroup)
        self.assertIn(b"welcome", client.stdout.readline())
        return client.pid

    def percentage(self, pid):
        return self.node.ask("get_active_thread_percentage %d" % pid)

    def metrics(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.port, timeout=10) as answer:
            return answer.read().decode()

    def test_metrics_name_the_pod_of_each_client(self):
        self.start(MPS_FOUR)
        busy = self.pods.add("busy", UUID + "::2")
        self.pods.add("idle", UUID + "::3")
        pid = self.client(busy)
        self.node.ask("get_server_list")
        until("the client is measured", lambda: 'pid="%d"' % pid in self.metrics())
        metrics = self.metrics()
        self.assertRegex(metrics, r'tutti_client_active_thread_ratio\{[^}]*pid="%d"[^}]*namespace="default",pod="busy"[^}]*container="main",vgpu="2"\} 0\.25' % pid)
        self.assertRegex(metrics, r'DCGM_FI_DEV_GPU_UTIL\{gpu="0",UUID="%s",pci_bus_id="[0-9A-F:.]+"[^}]*container="main",namespace="default",pod="idle",vgpu="3"\} 0\n' % UUID)
        self.assertIn("tutti_daemon_up 1", metrics)
        self.assertIn("tutti_daemon_starts_total 1", metrics)

    def test_an_annotation_changes_the_share_of_a_running_client(self):
        self.start(MPS_FOUR + "tutti:\n  annotations: true\n")
        wide = self.client(self.pods.add("wide", UUID + "::0", {"tutti.dev/threads": "5", "tutti.dev/threads.main": "60", "tutti.dev/memory": "512Mi"}))
        plain = self.client(self.pods.add("plain", UUID + "::1"))
        until("60%% as asked, is %s" % self.percentage(wide), lambda: self.percentage(wide) == "60.0")
        limit = r'tutti_client_memory_limit_bytes\{[^}]*pod="%s"[^}]*\} (\d+)'
        until("512 MiB as asked", lambda: re.findall(limit % "wide", self.metrics()) == [str(512 << 20)])
        until("a replica's share for the other, though its environment said nothing", lambda: self.percentage(plain) == "25.0")

    def test_an_annotation_that_asks_for_more_than_there_is_changes_nothing(self):
        self.start(MPS_FOUR + "tutti:\n  annotations: true\n")
        plain = self.client(self.pods.add("a-plain", UUID + "::1"))
        until("a replica's share", lambda: self.percentage(plain) == "25.0")
        greedy = self.client(self.pods.add("greedy", UUID + "::0", {"tutti.dev/threads": "90"}))
        self.node.logged("default/greedy, container main: threads 90% are more than the 75%")
        until("a replica's share for the greedy one, too", lambda: self.percentage(greedy) == "25.0")
        self.assertEqual(self.percentage(plain), "25.0")
        hoarder = self.client(self.pods.add("hoarder", UUID + "::2", {"tutti.dev/threads": "1", "tutti.dev/memory": "900Mi"}))
        self.node.logged("default/hoarder, container main: memory of 900 MiB is more than the 512 MiB")
        until("a replica's share for it, of threads, too: nothing half of it", lambda: self.percentage(hoarder) == "25.0")
        confused = self.client(self.pods.add("confused", UUID + "::3", {"tutti.dev/threads": "a lot"}))
        self.node.logged('default/confused, container main: tutti.dev/threads "a lot" must be a percentage')
        until("a replica's share for it", lambda: self.percentage(confused) == "25.0")

    def test_a_runtime_that_is_not_there_yet_or_sends_garbage_is_named(self):
        there, self.pods.runtime_socket = self.pods.runtime_socket, os.path.join(self.node.work, "later.sock")
        self.start(MPS_FOUR)
        pid = self.client(self.pods.add("busy", UUID + "::2"))
        until("the client is measured", lambda: 'pid="%d"' % pid in self.metrics())
        self.node.logged("later.sock does not answer")
        with socket.socket(socket.AF_UNIX) as babbler:
            babbler.bind(self.pods.runtime_socket)
            babbler.listen()
            babbler.settimeout(20)

            def babbled():
                self.metrics()
                connection, _ = babbler.accept()
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" * 100)
                connection.close()
                return True

            until("it has been asked", babbled)
            self.assertIn('pid="%d"' % pid, self.metrics(), "the rest is measured all the same")
        os.rename(there, self.pods.runtime_socket)
        until("the pod has its name", lambda: re.search(r'tutti_client_launches_total[^\n]*pod="busy"|tutti_client_faulted[^\n]*pod="busy"', self.metrics()))
        self.node.logged("pods are known again")

    def test_the_feature_file_has_the_nodes_labels(self):
        self.start(MPS_FOUR)
        until("the feature file", lambda: os.path.exists(self.features))
        with open(self.features) as file:
            labels = dict(line.strip().split("=", 1) for line in file)
        self.assertEqual(labels["nvidia.com/mps.capable"], "true")
        self.assertEqual(labels["nvidia.com/gpu.replicas"], "4")
        self.assertEqual(labels["nvidia.com/gpu.memory"], "1024")


if __name__ == "__main__":
    unittest.main()
