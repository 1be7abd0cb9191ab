"""Features beyond NVIDIA's plugin, one key of the section `tutti` each: their effects at the kubelet and at the daemon."""
import os
import signal
import unittest

from node import MPS_FOUR, until
from plugin_case import UUID, PluginCase

NO_LIMIT = ""


class Extension(PluginCase):
    def defaults(self, percentage, memory):
        """The limits of clients that ask for none."""
        until("the percentage", lambda: self.node.ask("get_default_active_thread_percentage") == percentage)
        self.assertEqual(self.node.ask("get_default_device_pinned_mem_limit 0"), memory)

    def limits(self, answer):
        return {key: value for key, value in answer.envs.items() if key in ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT")}

    def test_a_single_replica_has_the_whole_device(self):
        plugin = self.plugin(MPS_FOUR.replace("4", "1") + "tutti: {singleReplica: true}\n")
        self.assertEqual(plugin.next_list(), {UUID + "::0": "Healthy"})
        self.node.logged("set_default_active_thread_percentage 100")
        self.defaults("100.0", NO_LIMIT)
        self.assertEqual(self.limits(plugin.allocate([UUID + "::0"])[0]), {})

    def test_oversubscription_gives_a_replica_more_than_its_part(self):
        plugin = self.plugin(MPS_FOUR + "tutti: {oversubscription: {threads: 2, memory: 1.5}}\n")
        self.defaults("50.0", "384M")
        self.assertEqual(len(plugin.next_list()), 4)

    def test_several_replicas_of_one_pod_add_up(self):
        plugin = self.plugin(MPS_FOUR.replace("    resources", "    failRequestsGreaterThanOne: false\n    resources"))
        self.defaults("100.0", NO_LIMIT)  # each container gets its own limits, which may be everything
        self.assertEqual(self.limits(plugin.allocate([UUID + "::0", UUID + "::3"])[0]),
                         {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": UUID + "=512M"})
        self.assertEqual(self.limits(plugin.allocate([UUID + "::1"])[0]),
                         {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": UUID + "=256M"})

    def test_what_is_not_throttled_still_has_its_part_of_the_memory(self):
        self.plugin(MPS_FOUR + "tutti: {throttle: false}\n")
        until("the memory", lambda: self.node.ask("get_default_device_pinned_mem_limit 0") == "256M")
        self.assertEqual(self.node.ask("get_default_active_thread_percentage"), "100.0")

    def test_one_server_for_all_users_is_had_where_asked_for(self):
        for asked, options in ((False, ["-d", "--fresh"]), (True, ["-d", "--fresh", "-M"])):
            self.plugin(MPS_FOUR + "tutti: {multiUserServer: %s}\n" % str(asked).lower()).next_list()
            daemon = self.node.daemons()[0]
            with open("/proc/%d/cmdline" % daemon) as file:
                self.assertEqual(file.read().split("\0")[1:-1], options)
            self.node.plugin.terminate()
            self.node.plugin.wait(20)
            os.kill(daemon, signal.SIGKILL)
            until("the daemon has ended", lambda: not self.node.daemons())

    def test_a_container_keeps_its_own_shared_memory_where_asked_for(self):
        answer = self.plugin(MPS_FOUR + "tutti: {mountShm: false}\n").allocate([UUID + "::0"])[0]
        self.assertEqual([mount.container_path for mount in answer.mounts], ["/mps/nvidia.com/gpu/pipe"])

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


if __name__ == "__main__":
    unittest.main()
