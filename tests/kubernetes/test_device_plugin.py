"""The device plugin against a kubelet stand-in: every call, every refusal, exhaustion, garbage."""
import os
import signal
import socket
import unittest

from node import MPS_FOUR, until
from plugin_case import UUID, PluginCase

PREFIX = 'invalid allocation request for "nvidia.com/gpu": invalid request: '


class DevicePlugin(PluginCase):
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
        self.assertEqual(set(mounts), {"/mps/nvidia.com/gpu/pipe", "/dev/shm"})
        self.assertRegex(mounts["/mps/nvidia.com/gpu/pipe"], "^%s/nvidia.com/gpu/pipe/claims/[0-9a-f]{16}$" % self.node.root)
        self.assertEqual(mounts["/dev/shm"], self.node.root + "/shm")

    def test_a_container_has_a_directory_of_its_own_until_its_replicas_are_anothers(self):
        plugin = self.plugin(MPS_FOUR.replace("mps:", "mps:\n    failRequestsGreaterThanOne: false"))
        directory = lambda *ids: [m.host_path for m in plugin.allocate([UUID + "::%d" % n for n in ids])[0].mounts if "pipe" in m.container_path][0]
        pair, other = directory(0, 1), directory(2)
        self.assertNotEqual(pair, other)
        self.assertEqual(directory(1, 0), pair, "the same replicas")
        one = directory(1)
        self.assertFalse(os.path.exists(pair), "its replica 1 is another container's")
        self.assertTrue(os.path.exists(one + "/control") and os.path.exists(other + "/control"))
        self.assertIn("claim require on", self.node.ask("claim list"))
        # The plugin tells a new daemon of the containers that run.
        os.kill(self.node.daemons()[0], signal.SIGKILL)
        until("the claims are back", lambda: self.node.daemons() and self.node.ask("claim list").count("claim add") == 2)

    def test_every_container_of_a_request_is_answered(self):
        self.assertEqual(len(self.plugin().allocate([UUID + "::0"], [UUID + "::1"])), 2)

    def test_refuses_in_nvidias_words(self):
        plugin = self.plugin()
        self.assertEqual(plugin.refusal([UUID + "::4"]), ("UNKNOWN", PREFIX + "unknown device: " + UUID + "::4"))
        self.assertEqual(plugin.refusal(["x" * 4000])[0], "UNKNOWN")
        self.assertEqual(plugin.refusal([UUID + "::0", UUID + "::1"]),
                         ("UNKNOWN", PREFIX + "maximum request size for shared resources is 1; found 2"))
        self.assertEqual(plugin.refusal([]), ("UNKNOWN", PREFIX + "no device is asked for"))

    def test_an_id_that_was_never_offered_is_no_device_however_like_one_it_is(self):
        plugin = self.plugin()
        offered = set(plugin.next_list())
        for id in ("::00", "::01", "::+1", "::-1", ":: 1", "::1 ", "::0x1", "::1::1", "::4294967297", "::", "", ":0"):
            self.assertNotIn(UUID + id, offered)
            self.assertEqual(plugin.refusal([UUID + id]), ("UNKNOWN", PREFIX + "unknown device: " + UUID + id))
        self.assertEqual(self.node.ask("claim list").count("claim add"), 0, "nobody was given anything")

    def test_when_all_replicas_are_taken_none_is_preferred(self):
        plugin = self.plugin()
        ids = [UUID + "::%d" % n for n in range(4)]
        self.assertEqual(sorted(plugin.prefer(ids, 4)), ids)
        self.assertRaisesRegex(Exception, "not enough available devices", plugin.prefer, [], 1)
        self.assertEqual(plugin.prefer(ids, 2, must=[ids[3]])[0], ids[3])

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


if __name__ == "__main__":
    unittest.main()
