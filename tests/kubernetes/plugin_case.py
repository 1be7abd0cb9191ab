"""The fixture of the device plugin's tests: a node with a kubelet stand-in, and the plugin on it."""
import os
import unittest

from kubelet import Kubelet
from node import MPS_FOUR, Node

BIN, FAKES = os.environ["TUTTI_BIN"], os.environ["TUTTI_FAKES"]
UUID = "GPU-cb1213a3-d6a4-be7f-0000-000000000000"  # of the fake server's device, 1 GiB


class PluginCase(unittest.TestCase):
    def setUp(self):
        self.node = self.enterContext(Node(BIN, FAKES))
        self.kubelet = Kubelet(self.node.kubelet_directory)
        self.addCleanup(lambda: self.kubelet.stop())

    def enterContext(self, context):  # unittest has it since Python 3.11
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def plugin(self, config=MPS_FOUR, *arguments):
        self.node.start(config, *arguments)
        plugin = self.kubelet.plugin()
        self.addCleanup(plugin.close)
        plugin.watch()
        return plugin
