import CSystem
import Dispatch
import Foundation
import Primitives

/// A running Chromium, with the ends of its pipes. The process and its children are a process group.
///
/// The thread that starts Chromium lives as long as the browser, because the kernel kills Chromium when this thread
/// ends, so also after this process was killed. Meanwhile the thread reads Chromium's complaints.
final class BrowserProcess: Sendable {
    /// Chromium writes to it.
    let output: Int32
    /// Chromium reads from it.
    let input: Int32
    /// Chromium writes its complaints to the other end.
    private let errors: Int32
    private let command: SpawnedCommand
    private let profile: BrowserProfile
    private let isEnded = Locked(false)
    private let ending = DispatchQueue(label: "larder.browser.end")
    private let complaints: Complaints

    /// The state that the thread shares. It does not hold the process, because the process outlives the thread.
    private final class Complaints: Sendable {
        let text = Locked<[UInt8]>([])
        let areRead = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)

        static let limit = 4000

        /// Keeps the beginning, and reads on to the end, because a browser with a full pipe would wait.
        func read(from socket: Int32) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = Glibc.read(socket, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                text.withLock { $0 += buffer[..<min(count, Self.limit - $0.count)] }
            }
            areRead.signal()
        }
    }

    /// Starts the command with a new profile below `directory`. Waits for the disk.
    init(_ launch: BrowserLaunch, in directory: String) throws(BrowserError) {
        BrowserProfile.removeLeftovers(in: directory)
        let profile = try BrowserProfile(in: directory, for: launch.user)
        let pipes: Pipes
        do { pipes = try Pipes() } catch {
            profile.remove()
            throw error
        }
        let complaints = Complaints()
        do {
            command = try Self.onThread(reading: pipes.errors.own, complaints) { () throws(BrowserError) in
                // Chromium expects its pipes as descriptors 3 and 4.
                try SpawnedCommand(
                    launch.command(profile: profile.path), environment: launch.environment(profile: profile.path),
                    descriptors: [(pipes.errors.other, 2), (pipes.input.other, 3), (pipes.output.other, 4)])
            }
        } catch {
            pipes.close(own: true)
            profile.remove()
            throw error
        }
        pipes.close(own: false)
        (self.profile, self.complaints) = (profile, complaints)
        (input, output, errors) = (pipes.input.own, pipes.output.own, pipes.errors.own)
    }

    /// Only after ``end()``: the thread and the queues of the connection use the descriptors until then.
    deinit {
        close(input)
        close(output)
        close(errors)
    }

    /// Kills the process group, waits for the process, and removes the profile. The process ends within a moment. Each
    /// call returns after the end.
    func end() {
        ending.sync {
            let isFirst = isEnded.withLock { isEnded in
                defer { isEnded = true }
                return !isEnded
            }
            guard isFirst else { return }
            command.kill()
            command.wait()
            // A process that left the group could hold the other end open.
            shutdown(errors, Int32(SHUT_RD))
            complaints.areRead.wait()
            complaints.mayEnd.signal()
            profile.remove()
        }
    }

    /// Calls `start` on a new thread, which lives until the end.
    private static func onThread(
        reading socket: Int32, _ complaints: Complaints,
        _ start: @escaping @Sendable () throws(BrowserError) -> SpawnedCommand
    ) throws(BrowserError) -> SpawnedCommand {
        let result = Locked<Result<SpawnedCommand, BrowserError>?>(nil)
        let isStarted = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            csystem_name_this_thread("browser")
            let started: Result<SpawnedCommand, BrowserError>
            do throws(BrowserError) { started = .success(try start()) } catch { started = .failure(error) }
            result.withLock { $0 = started }
            isStarted.signal()
            guard case .success = started else { return }
            complaints.read(from: socket)
            complaints.mayEnd.wait()
        }
        isStarted.wait()
        return try result.withLock { $0! }.get()
    }

    /// The first line that the process wrote to its standard error; empty while it runs, and without a line.
    var complaint: String {
        guard isEnded.withLock(\.self) else { return "" }
        // Chromium complains of D-Bus on every machine without a desktop.
        let lines = String(decoding: complaints.text.withLock(\.self), as: UTF8.self).split(separator: "\n")
        return lines.first { !$0.contains("dbus/") }.map(String.init) ?? ""
    }

    /// The bytes of memory that the process group holds for itself, without the pages of files that it shares. Reads
    /// `/proc`.
    var memory: Int64 {
        let page = Int64(sysconf(Int32(_SC_PAGESIZE)))
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.reduce(0) { sum, name in
            guard let other = pid_t(name), getpgid(other) == command.id,
                let text = try? String(contentsOfFile: "/proc/\(name)/statm", encoding: .utf8)
            else { return sum }
            let counts = text.split(separator: " ").compactMap { Int64($0) }
            return counts.count > 2 ? sum + (counts[1] - counts[2]) * page : sum
        }
    }
}

/// The connections between this process and a browser. Each has an end of this process and an end of the browser.
private struct Pipes {
    typealias Ends = (own: Int32, other: Int32)

    let input: Ends
    let output: Ends
    let errors: Ends

    init() throws(BrowserError) {
        var descriptors: [Int32] = []
        func made(_ make: (inout [Int32]) -> Int32) throws(BrowserError) -> [Int32] {
            var pair: [Int32] = [-1, -1]
            guard make(&pair) == 0 else {
                let reason = String(cString: strerror(errno))
                for descriptor in descriptors { Glibc.close(descriptor) }
                throw .start("no pipe can be made: \(reason)")
            }
            descriptors += pair
            return pair
        }
        let first = try made { csystem_pipe(&$0) }
        input = (first[1], first[0])
        let second = try made { csystem_pipe(&$0) }
        output = (second[0], second[1])
        // A pipe could not be shut down by its reader.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let third = try made { socketpair(AF_UNIX, type, 0, &$0) }
        errors = (third[0], third[1])
    }

    /// Closes the browser's ends, with `own` also the others.
    func close(own: Bool) {
        for ends in [input, output, errors] {
            Glibc.close(ends.other)
            if own { Glibc.close(ends.own) }
        }
    }
}
