"""The device plugin and its control daemon, which dies, hangs, already runs, has other options, or is started by others."""
import os
import signal
import subprocess
import unittest

from node import MPS_FOUR, until
from plugin_case import PluginCase


class Daemon(PluginCase):
    def test_a_dead_daemon_makes_all_replicas_unhealthy_and_its_successor_heals_them(self):
        plugin = self.plugin()
        plugin.wait_for(lambda devices: len(devices) == 4)
        os.kill(self.node.daemons()[0], signal.SIGKILL)
        sick = plugin.wait_for(lambda devices: "Unhealthy" in devices.values())
        self.assertEqual(set(sick.values()), {"Unhealthy"}, "all replicas together")
        plugin.wait_for(lambda devices: set(devices.values()) == {"Healthy"})
        self.assertEqual(self.node.ask("get_default_active_thread_percentage"), "25.0", "the successor has the defaults, too")

    def test_a_daemon_that_hangs_makes_all_replicas_unhealthy_until_it_answers_again(self):
        plugin = self.plugin(MPS_FOUR, "--daemon-timeout", "0.5")
        plugin.wait_for(lambda devices: len(devices) == 4)
        daemon = self.node.daemons()[0]
        os.kill(daemon, signal.SIGSTOP)
        try:
            sick = plugin.wait_for(lambda devices: "Unhealthy" in devices.values())
            self.assertEqual(set(sick.values()), {"Unhealthy"}, "all replicas together")
            self.node.logged("has not answered")
        finally:
            os.kill(daemon, signal.SIGCONT)
        plugin.wait_for(lambda devices: set(devices.values()) == {"Healthy"})
        self.assertEqual(self.node.daemons(), [daemon], "it was not replaced: pods may be using it")

    def test_a_daemon_that_dies_while_it_hangs_is_replaced(self):
        plugin = self.plugin(MPS_FOUR, "--daemon-timeout", "0.5")
        plugin.wait_for(lambda devices: len(devices) == 4)
        daemon = self.node.daemons()[0]
        os.kill(daemon, signal.SIGSTOP)
        plugin.wait_for(lambda devices: "Unhealthy" in devices.values())
        os.kill(daemon, signal.SIGKILL)
        plugin.wait_for(lambda devices: set(devices.values()) == {"Healthy"})
        self.assertNotEqual(self.node.daemons(), [daemon])

    def test_a_running_daemon_is_taken_over_and_survives_the_plugin(self):
        self.plugin().next_list()
        daemon = self.node.daemons()
        self.node.plugin.terminate()
        self.assertEqual(self.node.plugin.wait(20), 0)
        self.assertEqual(self.node.daemons(), daemon)
        self.plugin().next_list()
        self.assertEqual(self.node.daemons(), daemon)
        self.assertIn("taking it over", self.node.log())

    def test_a_daemon_that_was_started_otherwise_is_named_with_the_remedy(self):
        self.plugin().next_list()
        daemon = self.node.daemons()
        self.assertNotIn("-M", self.node.log(), "nothing is said where nothing is wrong")
        self.node.configure(MPS_FOUR + "tutti: {multiUserServer: true}\n")
        self.node.plugin.send_signal(signal.SIGHUP)
        self.node.logged("tutti.multiUserServer is true, but the control daemon that runs (process %d) was started without -M" % daemon[0])
        self.assertEqual(self.node.daemons(), daemon, "pods may be using it")
        self.node.ask("quit")
        until("another daemon", lambda: self.node.daemons() not in ([], daemon))
        with open("/proc/%d/cmdline" % self.node.daemons()[0]) as file:
            self.assertIn("-M", file.read().split("\0"))

    def test_a_daemon_that_others_start_is_waited_for_and_never_started(self):
        pipe, log = os.path.join(self.node.root, "nvidia.com/gpu/pipe"), os.path.join(self.node.root, "nvidia.com/gpu/log")
        self.node.start(MPS_FOUR + "tutti: {startDaemon: false}\n")
        self.node.logged("no control daemon answers in %s; tutti.startDaemon is false: waiting for one" % pipe)
        for daemons in (1, 2):
            environment = dict(self.node.environment, CUDA_MPS_PIPE_DIRECTORY=pipe, CUDA_MPS_LOG_DIRECTORY=log)
            subprocess.run([self.node.control, "-d"], env=environment, check=True)
            if daemons == 1:
                plugin = self.kubelet.plugin()
                self.addCleanup(plugin.close)
                plugin.watch()
            plugin.wait_for(lambda devices: set(devices.values()) == {"Healthy"})
            until("the default", lambda: self.node.ask("get_default_active_thread_percentage") == "25.0")
            os.kill(self.node.daemons()[0], signal.SIGKILL)
            plugin.wait_for(lambda devices: set(devices.values()) == {"Unhealthy"})
        self.assertNotIn("starting ", self.node.log())

    def test_a_pod_of_its_own_becomes_the_daemon_that_the_same_configuration_waits_for(self):
        shared = MPS_FOUR.replace("    resources", "    renameByDefault: true\n    resources")
        config = shared + "tutti: {startDaemon: false, multiUserServer: true}\n"
        self.node.configure(config)
        with open(os.path.join(self.node.work, "daemon.out"), "w") as out:
            daemon = subprocess.Popen([os.path.join(self.node.bin, "tutti-device-plugin"), "--run-daemon", "--config-file", os.path.join(self.node.work, "config.yaml"),
                                       "--mps-root", self.node.root, "--control-program", self.node.control], env=self.node.environment, stdout=out)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        plugin = self.plugin(config)
        self.assertEqual(plugin.request.resource_name, "nvidia.com/gpu.shared")
        self.assertEqual(set(plugin.next_list().values()), {"Healthy"})
        self.assertEqual(self.node.daemons(), [daemon.pid])
        with open("/proc/%d/cmdline" % daemon.pid) as file:
            self.assertEqual(file.read().split("\0")[:-1], ["nvidia-cuda-mps-control", "-f", "--servers-die", "-M"])
        self.assertNotIn("but the control daemon that runs", self.node.log(), "it was started as configured")


if __name__ == "__main__":
    unittest.main()
