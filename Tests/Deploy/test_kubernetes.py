"""What kustomize makes of deploy/kubernetes, and whether it fits together."""

import unittest

from rendering import objects


class Rendered:
    """What holds of every folder that is rendered."""

    folder = ""

    def setUp(self):
        self.objects = objects(self.folder)
        self.set = self.objects["StatefulSet", "larder"]
        self.pod = self.set["spec"]["template"]
        (self.container,) = self.pod["spec"]["containers"]
        self.policy = self.objects["NetworkPolicy", "larder"]["spec"]
        self.services = [self.objects["Service", name]["spec"] for name in ("larder", "larder-pods")]

    def test_there_is_everything_that_an_operator_expects(self):
        wanted = {"ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Service", "StatefulSet"}
        self.assertEqual({kind for kind, _ in self.objects} - {"Namespace"}, wanted)

    def test_what_selects_pods_selects_these(self):
        selectors = [
            self.set["spec"]["selector"]["matchLabels"],
            self.policy["podSelector"]["matchLabels"],
            self.objects["PodDisruptionBudget", "larder"]["spec"]["selector"]["matchLabels"],
            *(service["selector"] for service in self.services),
        ]
        for selector in selectors:
            self.assertTrue(selector)
            self.assertLessEqual(selector.items(), self.pod["metadata"]["labels"].items())

    def test_clients_and_prometheus_are_let_in_and_nobody_else(self):
        # What adds labels to all selectors would let in Larder's own pods alone.
        peers = [peer for rule in self.policy["ingress"] for peer in rule["from"]]
        labels = [peer["podSelector"]["matchLabels"] for peer in peers]
        self.assertEqual(labels, [{"larder-client": "true"}, {"app.kubernetes.io/name": "prometheus"}])
        self.assertEqual(self.policy["policyTypes"], ["Ingress", "Egress"])

    def test_ports_are_named_as_the_container_names_them(self):
        used = [port["targetPort"] for service in self.services for port in service["ports"]]
        used += [port["port"] for rule in self.policy["ingress"] for port in rule["ports"]]
        probes = [self.container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
        used += [probe["port"] for probe in probes]
        self.assertEqual(set(used), {port["name"] for port in self.container["ports"]})

    def test_the_pod_has_the_options_of_this_folder_and_waits_for_the_tokens(self):
        (options,) = [name for kind, name in self.objects if kind == "ConfigMap"]
        self.assertEqual(self.container["envFrom"], [{"configMapRef": {"name": options}}])
        # A change of the options changes the name, and that makes a new pod.
        self.assertRegex(options, "^larder-[a-z0-9]{10}$")
        data = self.objects["ConfigMap", options]["data"]
        mounts = {mount["name"]: mount["mountPath"] for mount in self.container["volumeMounts"]}
        self.assertEqual(data["LARDER_TOKENS_FILE"], mounts["tokens"] + "/tokens")
        (tokens,) = self.pod["spec"]["volumes"]
        self.assertEqual((tokens["name"], tokens["secret"]["secretName"]), ("tokens", "larder-tokens"))
        self.assertNotIn("optional", tokens["secret"])
        self.assertNotIn(("Secret", "larder-tokens"), self.objects)

    def test_the_volume_and_the_governing_service_are_there(self):
        (claim,) = self.set["spec"]["volumeClaimTemplates"]
        self.assertIn(claim["metadata"]["name"], {mount["name"] for mount in self.container["volumeMounts"]})
        self.assertIn(("Service", self.set["spec"]["serviceName"]), self.objects)

    def test_the_pod_keeps_to_the_strictest_pod_security_standard(self):
        spec = self.pod["spec"]
        self.assertFalse({"hostNetwork", "hostPID", "hostIPC", "initContainers"} & spec.keys())
        self.assertIs(spec["securityContext"]["runAsNonRoot"], True)
        self.assertGreater(spec["securityContext"]["runAsUser"], 0)
        self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertIs(spec["automountServiceAccountToken"], False)
        self.assertEqual(
            self.container["securityContext"],
            {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        )


class Base(Rendered, unittest.TestCase):
    folder = "base"


class Production(Rendered, unittest.TestCase):
    folder = "overlays/production"

    def test_it_changes_what_it_says_and_nothing_else(self):
        changes = set(changed(by_label(objects(Base.folder)), by_label(self.objects)))
        container = "StatefulSet larder.spec.template.spec.containers.0"
        self.assertEqual(
            {change for change in changes if not change.endswith(".metadata.namespace")},
            {
                "Namespace larder",
                "ConfigMap larder.data.LARDER_DISK_LIMIT",
                "ConfigMap larder.data.LARDER_MEMORY_LIMIT",
                "ConfigMap larder.metadata.name",
                f"{container}.envFrom.0.configMapRef.name",
                f"{container}.image",
                f"{container}.resources.limits.memory",
                f"{container}.resources.requests.cpu",
                f"{container}.resources.requests.memory",
                "StatefulSet larder.spec.volumeClaimTemplates.0.spec.resources.requests.storage",
            },
        )

    def test_everything_is_in_its_namespace(self):
        inside = [value for (kind, _), value in self.objects.items() if kind != "Namespace"]
        self.assertEqual({value["metadata"].get("namespace") for value in inside}, {"larder"})


def by_label(found):
    """The objects by a text that stays the same when their options change."""
    return {f"{kind} {'larder' if kind == 'ConfigMap' else name}": value for (kind, name), value in found.items()}


def changed(left, right):
    """The paths at which two values differ, as "a.b.0"."""
    if isinstance(left, dict) and isinstance(right, dict):
        pairs = [(key, left.get(key), right.get(key)) for key in left.keys() | right.keys()]
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = [(index, *both) for index, both in enumerate(zip(left, right))]
    else:
        if left != right:
            yield ""
        return
    for key, *both in pairs:
        for path in changed(*both):
            yield f"{key}.{path}" if path else str(key)


if __name__ == "__main__":
    unittest.main()
