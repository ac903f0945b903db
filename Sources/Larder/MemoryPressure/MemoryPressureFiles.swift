import Foundation

/// The kernel's files that show whether memory is short; `nil`: unknown or none.
package struct MemoryPressureFiles: Sendable {
    /// In the format of `/proc/pressure/memory`: <https://docs.kernel.org/accounting/psi.html>.
    package var stalls: [String] = []
    /// In the format of `/proc/meminfo`.
    package var memory: String?
    /// In the format of `/proc/vmstat`.
    package var machineCounts: String?
    /// Whether the process may be in a group with a limit that is not visible here, so that the machine's memory says
    /// little about the memory that the process can get.
    package var mayHideLimit = false
    /// The directory of the control group of version 2.
    package var controlGroup: String?
    /// The directory of the memory control group of version 1.
    package var oldControlGroup: String?
    /// Whether to ask for notifications of changes. The kernel's files support them; plain files are read periodically.
    package var notify = true
    package var readInterval: Duration = .seconds(2)

    package init() {}

    /// Groups that are not visible are left out; the sensor reports missing files.
    package static var ofThisProcess: MemoryPressureFiles {
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

    /// Whether the memory controller's group is not the topmost visible group, and its files are not visible. Where the
    /// process has a memory group of version 1, only that group counts, because then no group of version 2 has the
    /// memory controller.
    static func mayHideLimit(membership: String, mounts: String) -> Bool {
        let version: ControlGroup.Version = ControlGroup.path(.one, in: membership) == nil ? .two : .one
        return ControlGroup.path(version, in: membership) ?? "/" != "/"
            && ControlGroup(version, membership: membership, mounts: mounts) == nil
    }
}
