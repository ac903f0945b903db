import Foundation

/// Reads the signs of short memory, with notifications of the kernel where possible. Only the keeper's thread uses it.
struct MemoryPressureSensor: ~Copyable {
    /// The trigger: at least one process waited for memory for 15 % of two seconds. A process without privileges may
    /// only ask for whole multiples of two seconds.
    private static let trigger = "some 300000 2000000"
    /// The share of ``trigger`` (15 % of the time), for files that are read periodically.
    private static let share = 15.0
    /// A number of pages that is negligible: 1 MiB.
    private static let fewPages = 256

    /// An open file. Closing the descriptor ends the trigger that was written to the file, and its notifications.
    private struct Source {
        enum Content {
            /// `/proc/pressure/memory` or a file in its format, of the machine or of the group.
            case stalls(ofGroup: Bool)
            /// `memory.events`.
            case events
        }

        var content: Content
        var descriptor: Int32
        var notifies: Bool
    }

    private let files: MemoryPressureFiles
    private var sources: [Source] = []
    private var events = ControlGroupEvents("")
    /// The last sum of ``KernelText/swapReads(_:)`` over the machine and the groups.
    private var swapReads = 0
    /// The paths of files that cannot be used here, for the log.
    private(set) var missing: [String] = []

    init(_ files: MemoryPressureFiles) {
        self.files = files
        for path in files.stalls { openStalls(path, notify: files.notify) }
        _ = hasReadSwap(groupUses)
        guard let group = files.controlGroup else { return }
        let path = group + "/memory.events"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            missing.append(path)
            return
        }
        sources.append(Source(content: .events, descriptor: descriptor, notifies: files.notify))
        events = ControlGroupEvents(Self.read(descriptor) ?? "")
    }

    deinit {
        for source in sources { close(source.descriptor) }
    }

    /// Whether a file must be read periodically, because it has no notifications.
    var mustRead: Bool { sources.contains { !$0.notifies } }

    var polled: [pollfd] {
        sources.filter(\.notifies).map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
    }

    /// Returns the worst sign since the last call. The caller passes ``polled`` after `poll` has set its events.
    mutating func sign(_ polled: [pollfd] = []) -> MemoryPressurePolicy.Sign? {
        var worst: MemoryPressurePolicy.Sign?
        for source in sources {
            let found = polled.first { $0.fd == source.descriptor }?.revents ?? 0
            let sign: MemoryPressurePolicy.Sign? =
                switch source.content {
                case .stalls(let ofGroup):
                    isStalled(source, found) && isMuchTaken(ofGroup: ofGroup) ? .short : nil
                case .events: eventSign(source.descriptor)
                }
            if let sign { worst = max(worst ?? sign, sign) }
        }
        // The group of a lost file is gone, perhaps because the process has moved to another group. With the descriptor
        // of such a file, `poll` would always return at once.
        let lost = polled.filter { found in
            found.revents != 0 && (found.revents & Int16(POLLPRI) == 0 || Self.read(found.fd) == nil)
        }.map(\.fd)
        for descriptor in lost { close(descriptor) }
        sources.removeAll { lost.contains($0.descriptor) }
        return worst
    }

    private func isStalled(_ source: Source, _ found: Int16) -> Bool {
        if source.notifies { return found & Int16(POLLPRI) != 0 }
        return (Self.read(source.descriptor).flatMap(KernelText.someAverage) ?? 0) >= Self.share
    }

    private mutating func openStalls(_ path: String, notify: Bool) {
        let content = Source.Content.stalls(ofGroup: files.controlGroup.map { path.hasPrefix($0 + "/") } ?? false)
        if notify {
            let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            if descriptor >= 0 {
                // The kernel documentation writes the trigger with its terminating zero.
                if write(descriptor, Self.trigger, Self.trigger.utf8.count + 1) > 0 {
                    sources.append(Source(content: content, descriptor: descriptor, notifies: true))
                    return
                }
                close(descriptor)
            }
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        // A kernel without stall accounting has the file, too, but reading it fails.
        guard descriptor >= 0, Self.read(descriptor) != nil else {
            if descriptor >= 0 { close(descriptor) }
            missing.append(path)
            return
        }
        sources.append(Source(content: content, descriptor: descriptor, notifies: false))
    }

    /// Compares the counters of the group with the last ones. Reading the file also enables the next notification.
    private mutating func eventSign(_ descriptor: Int32) -> MemoryPressurePolicy.Sign? {
        guard let text = Self.read(descriptor), !text.isEmpty else { return nil }
        let (old, new) = (events, ControlGroupEvents(text))
        events = new
        if new.exhausted > old.exhausted { return .exhausted }
        guard new.limits > old.limits, let group = files.controlGroup else { return nil }
        return ControlGroupUse(of: group)?.isHigh ?? true ? .short : nil
    }

    /// Whether other pages than pages of files take most of the machine, the group or a group above, or pages were read
    /// back from swap. Also true if no limit is known, or if the stalled group has hardly any pages of files.
    ///
    /// A stall alone is no proof. The kernel also counts a process as waiting for memory when it rereads a page that
    /// was dropped a while ago, for any reason: a disk cache reads more files than fit into memory, or a program drops
    /// idle pages. The memory tier avoids such reads, so shrinking it would cause more of them.
    private mutating func isMuchTaken(ofGroup: Bool) -> Bool {
        let isMachineHigh = files.memory.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
            .flatMap(KernelText.isMachineHigh)
        let uses = groupUses
        if hasReadSwap(uses) || isMachineHigh ?? false || uses.contains(where: \.isHigh) { return true }
        if ofGroup, let group = files.controlGroup, ControlGroupUse(of: group)?.hasFewFiles ?? false { return true }
        return (isMachineHigh == nil || files.mayHideLimit) && !uses.contains { $0.limit != nil }
    }

    private var groupUses: [ControlGroupUse] {
        [files.controlGroup, files.oldControlGroup].compactMap { $0 }.flatMap(Self.withAncestors)
            .compactMap(ControlGroupUse.init(of:))
    }

    /// Whether more than a few pages were read back from swap since the last call.
    private mutating func hasReadSwap(_ uses: [ControlGroupUse]) -> Bool {
        let counts = files.machineCounts.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        let before = swapReads
        swapReads = uses.reduce(KernelText.swapReads(KernelText.numbers(counts))) { $0 + $1.swapReads }
        return swapReads - before > Self.fewPages
    }

    /// Returns a directory and all directories above it. Directories above the topmost group have no files of groups.
    private static func withAncestors(_ directory: String) -> some Sequence<String> {
        sequence(first: directory) { $0.count > 1 ? ($0 as NSString).deletingLastPathComponent : nil }
    }

    /// Returns the first 4 KiB of a file; `nil` when reading fails.
    private static func read(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}

/// The kernel's files that show whether memory is short. A path is `nil` if the file does not exist or
/// is not known.
package struct MemoryPressureFiles: Sendable {
    /// Files in the format of `/proc/pressure/memory`: <https://docs.kernel.org/accounting/psi.html>.
    package var stalls: [String] = []
    /// A file in the format of `/proc/meminfo`.
    package var memory: String?
    /// A file in the format of `/proc/vmstat`.
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

    /// Whether the memory controller's group is neither the topmost visible group nor has visible files. If there is a
    /// memory group of version 1, only this group counts, because then no group of version 2 has the controller.
    static func mayHideLimit(membership: String, mounts: String) -> Bool {
        let version: ControlGroup.Version = ControlGroup.path(.one, in: membership) == nil ? .two : .one
        return ControlGroup.path(version, in: membership) ?? "/" != "/"
            && ControlGroup(version, membership: membership, mounts: mounts) == nil
    }
}
