import Foundation

/// Where the kernel says that memory runs short.
public struct MemoryPressureFiles: Sendable {
    /// Files as `/proc/pressure/memory`: <https://docs.kernel.org/accounting/psi.html>.
    public var stalls: [String] = []
    /// The file that says how much memory there is and how much of it can be had, as `/proc/meminfo`; `nil`: nobody
    /// says.
    public var memory: String?
    /// The directory of a control group of version 2.
    public var controlGroup: String?
    /// The directory of a control group of version 1, that of the memory controller.
    public var oldControlGroup: String?
    /// Whether a program can be told of changes: the kernel's files can do that, plain ones are read now and then.
    public var notify = true
    /// How often files are read that do not tell.
    public var readInterval: Duration = .seconds(2)

    /// None: nothing is watched.
    public init() {}

    /// What concerns this process: the machine's pressure, and its own control group's. What is not there is left out.
    public static var ofThisProcess: MemoryPressureFiles {
        var files = MemoryPressureFiles()
        files.stalls = ["/proc/pressure/memory"]
        let read = { (path: String) in (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        let (membership, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"))
        if let group = ControlGroup(.two, membership: membership, mounts: mounts) {
            files.stalls.append(group.directory + "/memory.pressure")
            files.controlGroup = group.directory
        }
        files.oldControlGroup = ControlGroup(.one, membership: membership, mounts: mounts)?.directory
        // What the machine has says nothing of a group that cannot be seen.
        let isHidden = { (version: ControlGroup.Version, found: String?) in
            found == nil && ControlGroup.path(version, in: membership) ?? "/" != "/"
        }
        if !isHidden(.one, files.oldControlGroup), !isHidden(.two, files.controlGroup) {
            files.memory = "/proc/meminfo"
        }
        return files
    }
}
