import Foundation

/// Reads the signs that memory is short, and has the kernel tell of them where it can. Touched by one thread alone.
struct MemoryPressureSensor: ~Copyable {
    /// Some process waited for memory for 15 % of two seconds. Who has no privileges may only ask for whole multiples
    /// of two seconds.
    private static let trigger = "some 300000 2000000"
    /// The same share, where the averages have to be read.
    private static let share = 15.0

    /// Pages that are nothing to speak of: 1 MiB.
    private static let fewPages = 256

    /// A file that is kept open: what was written to it, and what is told of it, ends when it is closed.
    private struct Source {
        enum Content {
            /// `/proc/pressure/memory`, or as that: of the machine, or of the group.
            case stalls(ofGroup: Bool)
            /// `memory.events`.
            case events
        }

        var content: Content
        var descriptor: Int32
        /// Whether the kernel tells of a change.
        var notifies: Bool
    }

    private let files: MemoryPressureFiles
    private var sources: [Source] = []
    private var events = ControlGroupEvents("")
    /// What was last known of ``KernelText/swapReads(_:)``, of the machine and the groups together.
    private var swapReads = 0
    /// What is not to be had here, for the log.
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

    /// Whether something has to be read now and then, because the kernel does not tell.
    var mustRead: Bool { sources.contains { !$0.notifies } }

    /// What `poll` is to wait for.
    var polled: [pollfd] {
        sources.filter(\.notifies).map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
    }

    /// The worst sign since the last time; `nil` when there is none.
    ///
    /// - Parameter polled: ``polled``, with what `poll` found.
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
        // A group that has gone, which may be once the process is in another: `poll` would never wait again.
        let lost = polled.filter { found in
            found.revents != 0 && (found.revents & Int16(POLLPRI) == 0 || Self.read(found.fd) == nil)
        }.map(\.fd)
        for descriptor in lost { close(descriptor) }
        sources.removeAll { lost.contains($0.descriptor) }
        return worst
    }

    /// - Parameter found: what `poll` found of it.
    private func isStalled(_ source: Source, _ found: Int16) -> Bool {
        if source.notifies { return found & Int16(POLLPRI) != 0 }
        return (Self.read(source.descriptor).flatMap(KernelText.someAverage) ?? 0) >= Self.share
    }

    private mutating func openStalls(_ path: String, notify: Bool) {
        let content = Source.Content.stalls(ofGroup: files.controlGroup.map { path.hasPrefix($0 + "/") } ?? false)
        if notify {
            let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            if descriptor >= 0 {
                // With the zero at its end, as the documentation has it.
                if write(descriptor, Self.trigger, Self.trigger.utf8.count + 1) > 0 {
                    sources.append(Source(content: content, descriptor: descriptor, notifies: true))
                    return
                }
                close(descriptor)
            }
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        // A kernel that counts no stalls has the file all the same, and refuses to read it.
        guard descriptor >= 0, Self.read(descriptor) != nil else {
            if descriptor >= 0 { close(descriptor) }
            missing.append(path)
            return
        }
        sources.append(Source(content: content, descriptor: descriptor, notifies: false))
    }

    /// What the counters of the group say now. Reading them is also what makes the kernel tell of the next change.
    private mutating func eventSign(_ descriptor: Int32) -> MemoryPressurePolicy.Sign? {
        guard let text = Self.read(descriptor), !text.isEmpty else { return nil }
        let (old, new) = (events, ControlGroupEvents(text))
        events = new
        if new.exhausted > old.exhausted { return .exhausted }
        guard new.limits > old.limits, let group = files.controlGroup else { return nil }
        return ControlGroupUse(of: group)?.isHigh ?? true ? .short : nil
    }

    /// Whether the machine, the group or one that it is in has little left besides pages of files, or reads back what
    /// was swapped out; true, too, when nothing says so, and when what waits is a group that has no such pages.
    ///
    /// Who reads a page again that was dropped a while ago is counted as waiting for memory, whyever it was dropped:
    /// because a disk cache reads more files than there is memory, or because somebody drops what is idle. The memory
    /// tier spares such reads, and giving it up would make more of them.
    private mutating func isMuchTaken(ofGroup: Bool) -> Bool {
        let machine = files.memory.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
            .flatMap(MachineMemory.init)
        let uses = groupUses
        if hasReadSwap(uses) || machine?.isHigh ?? false || uses.contains(where: \.isHigh) { return true }
        if ofGroup, let group = files.controlGroup, ControlGroupUse(of: group)?.hasFewFiles ?? false { return true }
        return (machine == nil || files.mayHideLimit) && !uses.contains { $0.limit != nil }
    }

    /// Of all groups that the process is in, as far as they can be seen.
    private var groupUses: [ControlGroupUse] {
        [files.controlGroup, files.oldControlGroup].compactMap { $0 }.flatMap(Self.withAncestors)
            .compactMap(ControlGroupUse.init(of:))
    }

    /// Whether more than a few pages were read back from swap since this was last asked.
    private mutating func hasReadSwap(_ uses: [ControlGroupUse]) -> Bool {
        let counts = files.machineCounts.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        let before = swapReads
        swapReads = uses.reduce(KernelText.swapReads(KernelText.numbers(counts))) { $0 + $1.swapReads }
        return swapReads - before > Self.fewPages
    }

    /// A group's directory and all that it is in. Where the groups end does not matter: what is further up has none of
    /// their files.
    private static func withAncestors(_ directory: String) -> [String] {
        var (all, place) = ([directory], directory)
        while place.count > 1 {
            place = (place as NSString).deletingLastPathComponent
            all.append(place)
        }
        return all
    }

    /// All of a short file, from its beginning; `nil` when it cannot be read.
    private static func read(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
