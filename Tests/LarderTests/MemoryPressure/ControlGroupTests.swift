import TestSupport
import Testing

@testable import Larder

@Suite("Control groups")
struct ControlGroupTests {
    private static func mount(_ root: String, _ place: String, _ type: String = "cgroup2") -> String {
        mount(root, place, type, options: "rw,nsdelegate")
    }

    private static func mount(
        _ root: String, _ place: String, _ type: String = "cgroup", options: String
    ) -> String {
        "41 31 0:38 \(root) \(place) rw,nosuid,relatime shared:9 - \(type) cgroup \(options)"
    }

    private static let other = "23 1 254:0 / / rw,relatime - ext4 /dev/vda rw"

    @Test(
        "The mount and the membership of a control group give the directory of its files",
        arguments: [
            // A machine with version 2 only.
            (
                "0::/system.slice/larder.service", mount("/", "/sys/fs/cgroup"),
                "/sys/fs/cgroup/system.slice/larder.service"
            ),
            // A namespace of control groups, as containers have it.
            ("0::/", mount("/", "/sys/fs/cgroup"), "/sys/fs/cgroup"),
            // A container without a namespace of control groups, in which a part of the tree is mounted.
            ("0::/docker/1f", mount("/docker/1f", "/sys/fs/cgroup"), "/sys/fs/cgroup"),
            ("0::/docker/1f/sub", mount("/docker/1f", "/sys/fs/cgroup"), "/sys/fs/cgroup/sub"),
            // Version 2 beside version 1.
            ("4:memory:/x\n0::/user", mount("/", "/sys/fs/cgroup/unified"), "/sys/fs/cgroup/unified/user"),
            ("0::/a", mount("/", "/my\\040groups"), "/my groups/a"),
        ])
    func found(membership: String, mount: String, directory: String) {
        let group = ControlGroup(membership: membership + "\n", mounts: Self.other + "\n" + mount + "\n")
        #expect(group?.directory == directory)
    }

    @Test(
        "A control group that is not in a mounted tree is not found",
        arguments: [
            ("4:memory:/x", mount("/", "/sys/fs/cgroup")), ("0::/a", other),
            ("0::/a", mount("/", "/sys/fs/cgroup", "cgroup")), ("0::/docker/2e", mount("/docker/1f", "/sys/fs/cgroup")),
            ("0::/docker/1fff", mount("/docker/1f", "/sys/fs/cgroup")), ("0::/../other", mount("/", "/sys/fs/cgroup")),
            ("", ""), ("0::/a", "x - cgroup2"),
        ])
    func missing(membership: String, mount: String) {
        #expect(ControlGroup(membership: membership, mounts: mount) == nil)
    }

    @Test(
        "The control group of version 1 is found by the line and the mount of the memory controller",
        arguments: [
            ("4:memory:/docker/1f\n0::/", mount("/docker/1f", "/old", options: "rw,memory"), ""),
            ("5:cpu,cpuacct:/a\n4:memory,hugetlb:/b:c\n", mount("/", "/old", options: "rw,memory"), "/b:c"),
            ("4:memory:/x", mount("/", "/old", options: "rw,cpu"), nil),
            ("4:cpu:/x\n0::/y", mount("/", "/old", options: "rw,memory"), nil),
            ("4:memory:/x", mount("/", "/old", "cgroup2", options: "rw,memory"), nil),
        ])
    func foundOfVersionOne(membership: String, mount: String, below: String?) {
        let group = ControlGroup(.one, membership: membership, mounts: Self.other + "\n" + mount + "\n")
        #expect(group?.directory == below.map { "/old" + $0 })
    }

    private static func use(_ files: [String: String]) throws -> ControlGroupUse? {
        let directory = try TemporaryDirectory()
        for (name, text) in files { try directory.write(text, to: name) }
        return ControlGroupUse(of: directory.path)
    }

    @Test("A control group is at its limit only if its memory, without the pages of files, reaches the limit")
    func use() throws {
        func isHigh(high: String, max: String, current: Int, files: Int) throws -> Bool? {
            try Self.use([
                "memory.high": high, "memory.max": max, "memory.current": "\(current)\n",
                "memory.stat": "anon 5\nactive_file \(files - 10)\ninactive_file 10\n",
            ])?.isHigh
        }
        #expect(try isHigh(high: "max\n", max: "1000\n", current: 1000, files: 800) == false)
        #expect(try isHigh(high: "max\n", max: "1000\n", current: 1000, files: 100) == true)
        #expect(try isHigh(high: "500\n", max: "1000\n", current: 600, files: 100) == true)
        #expect(try isHigh(high: "max\n", max: "max\n", current: 1000, files: 10) == false)
        #expect(try Self.use(["memory.max": "1\n", "memory.stat": ""]) == nil)
        #expect(try Self.use(["memory.max": "1\n", "memory.current": "1\n"]) == nil)
    }

    @Test("A group of version 1 is at its limit if it reaches its own limit or the limit of a group around it")
    func useOfVersionOne() throws {
        func isHigh(limit: String, current: Int, files: Int, lowest: String = "") throws -> Bool? {
            try Self.use([
                "memory.limit_in_bytes": limit, "memory.usage_in_bytes": "\(current)\n",
                "memory.stat": """
                active_file 0
                inactive_file 0
                total_active_file \(files - 10)
                total_inactive_file 10
                \(lowest)

                """,
            ])?.isHigh
        }
        #expect(try isHigh(limit: "1000\n", current: 1000, files: 800) == false)
        #expect(try isHigh(limit: "1000\n", current: 1000, files: 100) == true)
        #expect(try isHigh(limit: "9223372036854771712\n", current: 1000, files: 10) == false)
        #expect(try isHigh(limit: "9000\n", current: 1000, files: 10, lowest: "hierarchical_memory_limit 1100") == true)
    }

    @Test("A machine is short of memory when at most an eighth of its memory is available")
    func machine() {
        func isHigh(_ lines: String...) -> Bool? {
            let all = ["MemTotal:       1000000 kB", "MemFree:  10000 kB"] + lines
            return KernelText.isMachineHigh(all.joined(separator: "\n"))
        }
        #expect(isHigh("MemAvailable:   125001 kB") == false)
        #expect(isHigh("MemAvailable:   125000 kB") == true)
        #expect(isHigh() == nil)
        #expect(isHigh("MemAvailable: what") == nil)
        #expect(KernelText.isMachineHigh("") == nil)
    }

    @Test(
        "A hidden memory limit is possible if the group with the memory controller is not visible",
        arguments: [
            ("0::/", mount("/", "/sys/fs/cgroup"), false), ("0::/", other, false), ("", other, false),
            ("0::/a", mount("/", "/sys/fs/cgroup"), false), ("0::/a", other, true),
            ("4:memory:/a\n0::/a", mount("/", "/old", options: "rw,memory"), false),
            ("4:memory:/a\n0::/a", mount("/", "/sys/fs/cgroup/unified"), true),
            ("4:memory:/\n0::/a", other, false),
        ])
    func hidden(membership: String, mount: String, mayHide: Bool) {
        #expect(MemoryPressureFiles.mayHideLimit(membership: membership, mounts: mount) == mayHide)
    }

    @Test("The kernel's texts are parsed, and malformed texts give no values")
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
