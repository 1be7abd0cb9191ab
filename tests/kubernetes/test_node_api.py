"""Labels and taints that the plugin puts on its node through the API server (here a stand-in)."""
import shutil
import signal
import unittest

from api_server import ApiServer
from node import MPS_FOUR, until
from plugin_case import PluginCase

TEMPLATE = '{"name": "gpu-jobs", "shouldTaint": true, "gpu": {"sharingStrategy": "GPU_SHARING_STRATEGY_MPS", "defaultSharedClientsPerGpu": 4}}'
TAINT = {"key": "scheduling.cast.ai/node-template", "value": "gpu-jobs", "effect": "NoSchedule"}


@unittest.skipUnless(shutil.which("openssl"), "needs openssl, to make a certificate")
class NodeApi(PluginCase):
    def setUp(self):
        super().setUp()
        self.api = ApiServer(self.node.work)
        self.addCleanup(self.api.stop)

    def mark(self, name="node1", account=None):
        self.node.start(TEMPLATE, "--node-api", "true", "--node-name", name, "--api-server", self.api.url, "--service-account", account or self.api.account)

    def marked(self):
        until("the node is labelled", lambda: self.api.labels().get("nvidia.com/gpu.replicas") == "4")

    def test_a_node_templates_labels_and_taint_are_put_on_the_node(self):
        self.mark()
        self.marked()
        labels = self.api.labels()
        self.assertEqual(labels["scheduling.cast.ai/gpu-shared"], "4")
        self.assertEqual(labels["scheduling.cast.ai/gpu-sharing-strategy"], "mps")
        self.assertEqual(labels["scheduling.cast.ai/node-template"], "gpu-jobs")
        self.assertEqual(labels["nvidia.com/mps.capable"], "true")
        self.assertEqual(labels["kubernetes.io/os"], "linux", "others' labels stay")
        self.assertEqual(self.api.taints(), [TAINT])

    def test_another_configuration_takes_off_what_the_last_one_put_on(self):
        self.mark()
        self.marked()
        self.api.put({"metadata": {"labels": {"mine": "stays"}}})
        self.node.configure(MPS_FOUR.replace("replicas: 4", "replicas: 8"))
        self.node.plugin.send_signal(signal.SIGHUP)
        until("the taint is gone", lambda: self.api.taints() == [])
        self.assertEqual(self.api.labels()["nvidia.com/gpu.replicas"], "8")
        self.assertEqual(self.api.labels()["mine"], "stays")
        self.assertNotIn("scheduling.cast.ai/gpu-shared", self.api.labels())

    def test_who_changes_the_node_at_the_same_time_loses_nothing(self):
        other = {"key": "maintenance", "effect": "NoExecute"}
        self.api.before_patch = lambda: self.api.put({"spec": {"taints": [other]}})
        self.mark()
        self.marked()
        self.assertEqual(self.api.taints(), [other, TAINT])

    def test_a_refusal_is_named_with_its_remedy_and_tried_again(self):
        refusal = {"kind": "Status", "message": "nodes \"node1\" is forbidden", "code": 403}
        self.api.answers = [(403, refusal), (200, b"\xff garbage"), (500, b"{")]
        self.mark()
        self.node.logged('403 nodes "node1" is forbidden; the service account needs the verbs get and patch on nodes')
        self.node.logged("the API server's answer is not a Node")
        self.marked()

    def test_a_token_is_read_anew_and_a_missing_one_named(self):
        self.api.token("")
        self.mark()
        self.node.logged("/account/token: does the pod have a service account")
        self.api.token("of another cluster\n")
        self.node.logged("is not a token")
        self.api.token("a.service.account\n")
        self.marked()

    def test_an_api_server_of_another_certificate_gets_no_token(self):
        stranger = self.api.account + "-of-another"
        shutil.copytree(self.api.account, stranger)
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", stranger + "/ca.crt")
        self.mark(account=stranger)
        self.node.logged("the API server %s does not answer: SSL certificate problem" % self.api.url)
        self.assertNotIn("nvidia.com/gpu.replicas", self.api.labels())

    def test_an_api_server_that_is_away_holds_up_nothing(self):
        self.api.stop()
        self.mark()
        self.node.logged("does not answer")
        self.assertTrue(self.kubelet.plugin().options().get_preferred_allocation_available)

    def test_without_a_name_of_the_node_the_plugin_ends_and_says_why(self):
        self.mark(name="../secrets")
        self.assertEqual(self.node.plugin.wait(20), 1)
        self.assertIn('"../secrets" is no name of a node', self.node.log())


if __name__ == "__main__":
    unittest.main()
