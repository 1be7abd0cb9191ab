"""The device plugin while its surroundings change: all kinds of kubelets, its sockets, its configuration."""
import os
import signal
import socket
import threading
import time
import unittest

from kubelet import Kubelet
from node import MPS_FOUR, until
from plugin_case import PluginCase


class Restarts(PluginCase):
    def test_registers_again_when_the_kubelet_restarts(self):
        self.plugin().next_list()
        self.kubelet.stop()
        self.kubelet = Kubelet(self.node.kubelet_directory)
        # If it sees its own socket go before it sees the new kubelet, it registers twice: the last one counts.
        devices = None
        while devices is None:
            again = self.kubelet.plugin()
            self.addCleanup(again.close)
            again.watch()
            devices = again.next_list()
        self.assertEqual(len(devices), 4)

    def test_registers_again_with_a_kubelet_that_leaves_the_sockets(self):
        self.plugin().next_list()
        self.kubelet.stop()
        self.kubelet = Kubelet(self.node.kubelet_directory, others="stay")
        self.kubelet.plugin().close()

    def test_serves_again_when_its_socket_is_deleted(self):
        self.plugin().next_list()
        os.unlink(os.path.join(self.node.kubelet_directory, "nvidia-gpu.sock"))
        again = self.kubelet.plugin()
        self.addCleanup(again.close)
        self.assertTrue(again.options().get_preferred_allocation_available)

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

    def test_a_kubelet_that_is_slow_is_named_and_asked_again(self):
        self.kubelet.stop()
        self.kubelet = Kubelet(self.node.kubelet_directory, slow_s=2)
        self.node.start(MPS_FOUR, "--kubelet-timeout", "0.3")
        self.node.logged("the kubelet has not answered in time (--kubelet-timeout); trying again")
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
        self.node.logged("no gRPC server answers there")
        listener.shutdown(socket.SHUT_RDWR)
        self.kubelet = Kubelet(self.node.kubelet_directory)
        self.kubelet.plugin().close()

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

    def test_no_devices_end_the_plugin_with_the_reason_unless_told_to_wait(self):
        self.node.environment["FAKE_SERVER"] = "fail"
        self.node.start(MPS_FOUR, "--fail-on-init-error", "false")
        self.node.logged("starting")
        time.sleep(0.3)
        self.assertIsNone(self.node.plugin.poll())


if __name__ == "__main__":
    unittest.main()
