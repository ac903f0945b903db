import Foundation

/// Where the kernel says that memory runs short.
public struct MemoryPressureFiles: Sendable {
    /// Files as `/proc/pressure/memory`: <https://docs.kernel.org/accounting/psi.html>.
    public var stalls: [String] = []
    /// The file that says how much memory there is and how much of it can be had, as `/proc/meminfo`; `nil`: nobody
    /// says.
    public var memory: String?
    /// The file that counts what happens to the machine's memory, as `/proc/vmstat`; `nil`: nobody counts.
    public var machineCounts: String?
    /// Whether there may be a group with a limit of which nothing can be seen, so that what is known of the machine
    /// says little.
    public var mayHideLimit = false
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
        files.memory = "/proc/meminfo"
        files.machineCounts = "/proc/vmstat"
        files.mayHideLimit = mayHideLimit(membership: membership, mounts: mounts)
        return files
    }

    /// Whether the group that has the memory controller is none of the topmost that can be known of, and its files are
    /// not to be seen. Beside version 1 that is never a group of version 2.
    static func mayHideLimit(membership: String, mounts: String) -> Bool {
        let version: ControlGroup.Version = ControlGroup.path(.one, in: membership) == nil ? .two : .one
        return ControlGroup.path(version, in: membership) ?? "/" != "/"
            && ControlGroup(version, membership: membership, mounts: mounts) == nil
    }
}
