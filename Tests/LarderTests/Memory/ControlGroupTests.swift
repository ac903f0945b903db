import Testing

@testable import Larder

@Suite("Control groups")
struct ControlGroupTests {
    private static func mount(_ root: String, _ place: String, _ type: String = "cgroup2") -> String {
        "41 31 0:38 \(root) \(place) rw,nosuid,relatime shared:9 - \(type) cgroup2 rw,nsdelegate"
    }

    private static let other = "23 1 254:0 / / rw,relatime - ext4 /dev/vda rw"

    @Test(
        "the group's files are where the mount and the membership say",
        arguments: [
            // On a machine with version 2 alone.
            (
                "0::/system.slice/larder.service", mount("/", "/sys/fs/cgroup"),
                "/sys/fs/cgroup/system.slice/larder.service"
            ),
            // In a namespace of control groups, as containers have it.
            ("0::/", mount("/", "/sys/fs/cgroup"), "/sys/fs/cgroup"),
            // In a container without that namespace: a part of the tree is mounted.
            ("0::/docker/1f", mount("/docker/1f", "/sys/fs/cgroup"), "/sys/fs/cgroup"),
            ("0::/docker/1f/sub", mount("/docker/1f", "/sys/fs/cgroup"), "/sys/fs/cgroup/sub"),
            // Beside version 1.
            ("4:memory:/x\n0::/user", mount("/", "/sys/fs/cgroup/unified"), "/sys/fs/cgroup/unified/user"),
            ("0::/a", mount("/", "/my\\040groups"), "/my groups/a"),
        ])
    func found(membership: String, mount: String, directory: String) {
        let group = ControlGroup(membership: membership + "\n", mounts: Self.other + "\n" + mount + "\n")
        #expect(group?.directory == directory)
    }

    @Test(
        "what cannot be seen from here is no group",
        arguments: [
            ("4:memory:/x", mount("/", "/sys/fs/cgroup")), ("0::/a", other),
            ("0::/a", mount("/", "/sys/fs/cgroup", "cgroup")), ("0::/docker/2e", mount("/docker/1f", "/sys/fs/cgroup")),
            ("0::/docker/1fff", mount("/docker/1f", "/sys/fs/cgroup")), ("0::/../other", mount("/", "/sys/fs/cgroup")),
            ("", ""), ("0::/a", "x - cgroup2"),
        ])
    func missing(membership: String, mount: String) {
        #expect(ControlGroup(membership: membership, mounts: mount) == nil)
    }

    @Test("pages of files are not held against a group that is at its limit")
    func use() {
        func isHigh(high: String, max: String, current: Int, files: Int) -> Bool? {
            ControlGroupUse(
                high: high, max: max, current: "\(current)\n",
                statistics: "anon 5\nactive_file \(files - 10)\ninactive_file 10\n")?.isHigh
        }
        #expect(isHigh(high: "max\n", max: "1000\n", current: 1000, files: 800) == false)
        #expect(isHigh(high: "max\n", max: "1000\n", current: 1000, files: 100) == true)
        #expect(isHigh(high: "500\n", max: "1000\n", current: 600, files: 100) == true)
        #expect(isHigh(high: "max\n", max: "max\n", current: 1000, files: 0) == false)
        #expect(ControlGroupUse(high: nil, max: "1", current: nil, statistics: "") == nil)
    }

    @Test("the kernel's texts are read, and what is none of them is nothing")
    func texts() {
        let pressure =
            "some avg10=17.53 avg60=1.00 avg300=0.00 total=5\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0\n"
        #expect(KernelText.someAverage(pressure) == 17.53)
        #expect(KernelText.someAverage("some avg10=x") == nil)
        #expect(KernelText.someAverage("") == nil)
        var events = ControlGroupEvents("low 9\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n")
        #expect(events.limits == 3)
        #expect(events.exhausted == 7)
        events = ControlGroupEvents("what is this")
        #expect(events == ControlGroupEvents(""))
    }
}
