"""The device plugin against a kubelet stand-in: every call, every refusal, restarts, health, exhaustion."""
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest

from kubelet import Kubelet
from node import MPS_FOUR, Node, until

BIN, FAKES = os.environ["TUTTI_BIN"], os.environ["TUTTI_FAKES"]
UUID = "GPU-cb1213a3-d6a4-be7f-0000-000000000000"  # of the fake server's device, 1 GiB
PREFIX = 'invalid allocation request for "nvidia.com/gpu": invalid request: '


class DevicePlugin(unittest.TestCase):
    def setUp(self):
        self.node = self.enterContext(Node(BIN, FAKES))
        self.kubelet = Kubelet(self.node.kubelet_directory)
        self.addCleanup(lambda: self.kubelet.stop())

    def enterContext(self, context):  # unittest has it from Python 3.12 on
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def plugin(self, config=MPS_FOUR, *arguments):
        self.node.start(config, *arguments)
        plugin = self.kubelet.plugin()
        self.addCleanup(plugin.close)
        plugin.watch()
        return plugin

    def test_registers_as_nvidias_plugin_does(self):
        plugin = self.plugin()
        request = plugin.request
        self.assertEqual((request.version, request.endpoint, request.resource_name), ("v1beta1", "nvidia-gpu.sock", "nvidia.com/gpu"))
        self.assertTrue(request.options.get_preferred_allocation_available)
        options = plugin.options()
        self.assertTrue(options.get_preferred_allocation_available)
        self.assertFalse(options.pre_start_required)
        self.assertEqual(plugin.next_list(), {"%s::%d" % (UUID, n): "Healthy" for n in range(4)})
        plugin.pre_start([UUID + "::0"])

    def test_the_daemon_is_told_memory_and_threads_divided_by_replicas(self):
        self.plugin()
        until("the default", lambda: self.node.ask("get_default_active_thread_percentage") == "25.0")
        self.assertEqual(self.node.ask("get_default_device_pinned_mem_limit 0"), "256M")

    def test_allocates_environment_and_mounts(self):
        answer = self.plugin().allocate([UUID + "::3"])[0]
        self.assertEqual(answer.envs["NVIDIA_VISIBLE_DEVICES"], UUID)
        self.assertEqual(answer.envs["CUDA_MPS_PIPE_DIRECTORY"], "/mps/nvidia.com/gpu/pipe")
        mounts = {mount.container_path: mount.host_path for mount in answer.mounts}
        self.assertEqual(mounts, {"/mps/nvidia.com/gpu/pipe": self.node.root + "/nvidia.com/gpu/pipe", "/dev/shm": self.node.root + "/shm"})

    def test_every_container_of_a_request_is_answered(self):
        self.assertEqual(len(self.plugin().allocate([UUID + "::0"], [UUID + "::1"])), 2)

    def test_refuses_in_nvidias_words(self):
        plugin = self.plugin()
        self.assertEqual(plugin.refusal([UUID + "::4"]), ("UNKNOWN", PREFIX + "unknown device: " + UUID + "::4"))
        self.assertEqual(plugin.refusal(["x" * 4000])[0], "UNKNOWN")
        self.assertEqual(plugin.refusal([UUID + "::0", UUID + "::1"]),
                         ("UNKNOWN", PREFIX + "maximum request size for shared resources is 1; found 2"))
        self.assertEqual(plugin.refusal([]), ("UNKNOWN", PREFIX + "no device is asked for"))

    def test_when_all_replicas_are_taken_none_is_preferred(self):
        plugin = self.plugin()
        ids = [UUID + "::%d" % n for n in range(4)]
        self.assertEqual(sorted(plugin.prefer(ids, 4)), ids)
        self.assertRaisesRegex(Exception, "not enough available devices", plugin.prefer, [], 1)
        self.assertEqual(plugin.prefer(ids, 2, must=[ids[3]])[0], ids[3])

    def test_registers_again_when_the_kubelet_restarts(self):
        self.plugin().next_list()
        self.kubelet.stop()
        self.kubelet = Kubelet(self.node.kubelet_directory)
        again = self.kubelet.plugin()
        self.addCleanup(again.close)
        again.watch()
        self.assertEqual(len(again.next_list()), 4)

    def test_serves_again_when_its_socket_is_deleted(self):
        self.plugin().next_list()
        os.unlink(os.path.join(self.node.kubelet_directory, "nvidia-gpu.sock"))
        again = self.kubelet.plugin()
        self.addCleanup(again.close)
        self.assertTrue(again.options().get_preferred_allocation_available)

    def test_a_dead_daemon_makes_all_replicas_unhealthy_and_its_successor_heals_them(self):
        plugin = self.plugin()
        plugin.wait_for(lambda devices: len(devices) == 4)
        os.kill(self.node.daemons()[0], signal.SIGKILL)
        sick = plugin.wait_for(lambda devices: "Unhealthy" in devices.values())
        self.assertEqual(set(sick.values()), {"Unhealthy"}, "all replicas together")
        plugin.wait_for(lambda devices: set(devices.values()) == {"Healthy"})
        self.assertEqual(self.node.ask("get_default_active_thread_percentage"), "25.0", "the successor has the defaults, too")

    def test_a_running_daemon_is_taken_over_and_survives_the_plugin(self):
        self.plugin().next_list()
        daemon = self.node.daemons()
        self.node.plugin.terminate()
        self.assertEqual(self.node.plugin.wait(20), 0)
        self.assertEqual(self.node.daemons(), daemon)
        self.plugin().next_list()
        self.assertEqual(self.node.daemons(), daemon)
        self.assertIn("taking it over", self.node.log())

    def test_a_new_configuration_is_taken_on_sighup_a_broken_one_is_not(self):
        self.plugin().next_list()
        self.node.configure(MPS_FOUR.replace("replicas: 4", "replicas: 0"))
        self.node.plugin.send_signal(signal.SIGHUP)
        self.node.logged("config.yaml:6: number of replicas must be >= 2, but is 0")
        same = self.kubelet.plugin()
        self.addCleanup(same.close)
        same.watch()
        self.assertEqual(len(same.next_list()), 4)
        self.node.configure(MPS_FOUR.replace("replicas: 4", "replicas: 8"))
        self.node.plugin.send_signal(signal.SIGHUP)
        fresh = self.kubelet.plugin()
        self.addCleanup(fresh.close)
        fresh.watch()
        self.assertEqual(len(fresh.next_list()), 8)
        until("the new default", lambda: self.node.ask("get_default_active_thread_percentage") == "12.0")

    def test_waits_for_a_kubelet_that_is_not_there_yet(self):
        self.kubelet.stop()
        for name in os.listdir(self.node.kubelet_directory):
            os.unlink(os.path.join(self.node.kubelet_directory, name))
        self.node.start()
        self.node.logged("no kubelet at")
        self.kubelet = Kubelet(self.node.kubelet_directory)
        self.kubelet.plugin().close()

    def test_names_a_kubelet_of_another_version(self):
        self.kubelet.stop()
        self.kubelet = Kubelet(self.node.kubelet_directory, refuse="requested API version v1beta1 is not supported")
        self.node.start()
        self.node.logged("the kubelet refuses: requested API version v1beta1 is not supported")
        self.assertIsNone(self.node.plugin.poll())

    def test_a_kubelet_that_sends_garbage_is_named_and_survived(self):
        self.kubelet.stop()
        path = os.path.join(self.node.kubelet_directory, "kubelet.sock")
        listener = self.enterContext(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen()

        def babble():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" * 100)
                connection.close()

        threading.Thread(target=babble, daemon=True).start()
        self.node.start()
        self.node.logged("nobody who speaks gRPC answers there")
        listener.shutdown(socket.SHUT_RDWR)
        self.kubelet = Kubelet(self.node.kubelet_directory)
        self.kubelet.plugin().close()

    def test_garbage_on_its_own_socket_disturbs_nobody(self):
        plugin = self.plugin()
        plugin.next_list()
        for garbage in (b"\x00" * 4096, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 4096, os.urandom(4096)):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(os.path.join(self.node.kubelet_directory, "nvidia-gpu.sock"))
                try:
                    stranger.sendall(garbage)
                except OSError:
                    pass
        self.assertEqual(len(plugin.allocate([UUID + "::0"])), 1)

    def test_sockets_of_another_owner_are_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to give a socket away")
        path = os.path.join(self.node.kubelet_directory, "nvidia-gpu.sock")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
        os.chown(path, 65534, 65534)
        self.node.start()
        self.node.logged("nvidia-gpu.sock belongs to user 65534")
        os.unlink(path)
        os.chown(os.path.join(self.node.kubelet_directory, "kubelet.sock"), 65534, 65534)
        self.node.logged("kubelet.sock belongs to user 65534, not to root")

    def test_unequal_shares_are_resources_of_their_own(self):
        self.node.start("tutti:\n  shares:\n  - {resource: gpu.big, threads: 50}\n  - {resource: gpu.small, replicas: 4, threads: 10}\n")
        plugins = {}
        for _ in range(2):
            plugin = self.kubelet.plugin()
            self.addCleanup(plugin.close)
            plugins[plugin.resource] = plugin
        small = plugins["nvidia.com/gpu.small"].allocate([UUID + "::3"])[0]
        self.assertEqual(small.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "10")
        self.assertEqual(small.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], UUID + "=102M")
        until("the largest share as the default", lambda: self.node.ask("get_default_active_thread_percentage") == "50.0")

    def test_no_devices_end_the_plugin_with_the_reason_unless_told_to_wait(self):
        self.node.environment["FAKE_SERVER"] = "fail"
        self.node.start(MPS_FOUR, "--fail-on-init-error", "false")
        self.node.logged("starting")
        time.sleep(0.3)
        self.assertIsNone(self.node.plugin.poll())


if __name__ == "__main__":
    unittest.main()
