"""A program with the environment that Allocate returned runs on the CPU device through the daemon, with a replica's share
of memory and SMs."""
import os
import re
import socket
import subprocess
import unittest

from kubelet import Kubelet
from node import MPS_FOUR, Node

BIN, FAKES = os.environ["TUTTI_BIN"], os.environ["TUTTI_FAKES"]
LIBRARY = os.path.abspath(os.path.join(BIN, "..", "lib"))
PROBE = os.path.join(FAKES, "device_probe")


@unittest.skipUnless(os.path.exists(os.path.join(LIBRARY, "libcuda.so.1")) and os.path.exists(PROBE), "needs libcuda.so.1 and device_probe")
class RealDevice(unittest.TestCase):
    def test_a_program_with_the_allocated_environment_gets_its_replicas_share(self):
        sizes = {"TUTTI_CPU_DEVICES": "2", "TUTTI_CPU_SMS": "8", "TUTTI_CPU_MEMORY": "1G"}
        with Node(BIN, environment=sizes) as node:
            kubelet = Kubelet(node.kubelet_directory)
            node.start(MPS_FOUR + "tutti:\n  clientLibrary: {hostPath: %s}\n" % LIBRARY)
            plugin = kubelet.plugin()
            plugin.watch()
            devices = plugin.next_list()
            self.assertEqual(len(devices), 8, "two devices of four replicas")
            second = sorted({device.split("::")[0] for device in devices})[1]
            answer = plugin.allocate([second + "::1"])[0]
            # Maps a container's mounts back, since this program runs outside of one.
            mounts = {mount.container_path: mount.host_path for mount in answer.mounts}
            environment = {key: mounts.get(value, value) for key, value in answer.envs.items()}
            seen = subprocess.run([PROBE], env=environment, stdout=subprocess.PIPE, text=True, timeout=60).stdout
            self.assertRegex(seen, r"^0 %s sms=2 total_mib=256 .* mps=1$" % re.escape(second))
            # A container that drops its environment gets no more.
            bare = {key: environment[key] for key in ("CUDA_MPS_PIPE_DIRECTORY", "LD_LIBRARY_PATH")}
            seen = subprocess.run([PROBE], env=bare, stdout=subprocess.PIPE, text=True, timeout=60).stdout
            self.assertRegex(seen, r"^0 %s sms=2 total_mib=256 .* mps=1$" % re.escape(second))
            over = subprocess.run([PROBE, "--allocate", "300"], env=environment, stdout=subprocess.PIPE, text=True, timeout=60).stdout
            self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", over)
            for example in ("vector_add", "vector_add_driver"):
                program = os.path.join(BIN, "..", "examples", example)
                if os.path.exists(program) and os.path.exists(os.path.join(BIN, "tutti-compiler")):
                    done = subprocess.run([program, "--rounds", "2"], env=dict(environment, TUTTI_CACHE_DIR=os.path.join(FAKES, "e2e-cache")),
                                          stdout=subprocess.PIPE, text=True, timeout=100)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertIn("0 wrong", done.stdout)
                    break
            plugin.close()
            kubelet.stop()

    def test_who_has_kept_the_directory_of_a_container_that_has_gone_has_nothing_of_the_next(self):
        with Node(BIN) as node:
            kubelet = Kubelet(node.kubelet_directory)
            node.start(MPS_FOUR)
            plugin = kubelet.plugin()
            plugin.watch()
            replica = sorted(plugin.next_list())[0]
            directory = lambda: [mount.host_path for mount in plugin.allocate([replica])[0].mounts if mount.container_path.endswith("/pipe")][0]
            kept = os.open(directory(), os.O_PATH | os.O_DIRECTORY)
            connects = lambda path: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect_ex(path + "/control") == 0
            self.assertTrue(connects("/proc/self/fd/%d" % kept))
            again = directory()
            self.assertTrue(connects(again))
            self.assertFalse(connects("/proc/self/fd/%d" % kept))
            os.close(kept)
            plugin.close()
            kubelet.stop()

    def test_replicas_are_preferred_as_the_policy_says(self):
        for policy, preferred in (("distributed", 0), ("packed", 1)):  # the device with more free replicas, and with fewer
            with Node(BIN, environment={"TUTTI_CPU_DEVICES": "2"}) as node:
                kubelet = Kubelet(node.kubelet_directory)
                node.start(MPS_FOUR + "flags: {plugin: {sharedDevicesAllocationPolicy: %s}}\n" % policy)
                plugin = kubelet.plugin()
                plugin.watch()
                ids = sorted(plugin.next_list())
                devices = sorted({device.split("::")[0] for device in ids})
                free = [device for device in ids if device not in (devices[1] + "::0", devices[1] + "::1")]
                self.assertEqual(plugin.prefer(free, 1)[0].split("::")[0], devices[preferred], policy)
                plugin.close()
                kubelet.stop()

    def test_the_processes_of_a_container_share_its_limit_where_asked_for(self):
        with Node(BIN, environment={"TUTTI_CPU_MEMORY": "1G"}) as node:
            kubelet = Kubelet(node.kubelet_directory)
            node.start(MPS_FOUR + "tutti: {limitScope: container}\n")
            plugin = kubelet.plugin()
            plugin.watch()
            answer = plugin.allocate([sorted(plugin.next_list())[0]])[0]
            mounts = {mount.container_path: mount.host_path for mount in answer.mounts}
            environment = {key: mounts.get(value, value) for key, value in answer.envs.items()}
            environment["LD_LIBRARY_PATH"] = LIBRARY
            # All processes of this test are in one cgroup, as those of a container are.
            first = subprocess.Popen([PROBE, "--allocate", "200", "--hold"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                while "holding" not in first.stdout.readline():
                    pass
                second = subprocess.run([PROBE, "--allocate", "100"], env=environment, stdout=subprocess.PIPE, text=True, timeout=60).stdout
                self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", second, "200 MiB and 100 MiB are more than a replica's 256")
            finally:
                first.stdin.close()
                first.wait()
                first.stdout.close()
            plugin.close()
            kubelet.stop()


if __name__ == "__main__":
    unittest.main()
