import CSystem
import Dispatch
import Foundation
import Primitives

/// A running Chromium, with the ends of its pipes. The process and its children are a process group.
///
/// The thread that starts Chromium lives as long as the browser, because the kernel kills Chromium when this thread
/// ends, so also after this process was killed.
final class BrowserProcess: Sendable {
    /// Chromium writes to it.
    let output: Int32
    /// Chromium reads from it.
    let input: Int32
    private let id: pid_t
    private let profile: String
    /// Locks the profile's directory, so that a later process knows whether a profile is in use.
    private let lock: Int32
    private let isReaped = Locked(false)
    private let ending = DispatchQueue(label: "larder.browser.end")
    private let errors = Locked("")
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Starts the command with a new profile below `directory`.
    init(_ launch: BrowserLaunch, in directory: String) throws(BrowserError) {
        Self.removeLeftovers(in: directory)
        profile = try Self.makeProfile(in: directory, for: launch.user)
        lock = open(profile, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        flock(lock, LOCK_EX | LOCK_NB)
        var ends: [Int32] = []
        for _ in 0..<2 {
            var pair: [Int32] = [0, 0]
            guard csystem_pipe(&pair) == 0 else {
                ends.forEach { close($0) }
                close(lock)
                throw .start("no pipe can be made: \(String(cString: strerror(errno)))")
            }
            ends += pair
        }
        // The ends of Chromium are the first, which it reads, and the last, to which it writes.
        defer {
            close(ends[0])
            close(ends[3])
        }
        let profile = profile
        let (reading, writing) = (ends[0], ends[3])
        do {
            id = try Self.onThread(until: hasEnded) { () throws(BrowserError) in
                try Self.spawn(
                    launch.command(profile: profile), launch.environment(profile: profile), reading: reading,
                    writing: writing, errors: Self.errorsPath(profile))
            }
        } catch {
            close(ends[1])
            close(ends[2])
            close(lock)
            try? FileManager.default.removeItem(atPath: profile)
            throw error
        }
        input = ends[1]
        output = ends[2]
    }

    deinit {
        close(input)
        close(output)
        close(lock)
    }

    /// Kills the process group, waits for the process, and removes the profile. The process ends within a moment. Each
    /// call returns after the end.
    func end() {
        ending.sync {
            let isFirst = isReaped.withLock { isReaped in
                defer { isReaped = true }
                return !isReaped
            }
            guard isFirst else { return }
            kill(-id, SIGKILL)
            var status: Int32 = 0
            while waitpid(id, &status, 0) == -1, errno == EINTR {}
            errors.withLock { $0 = Self.beginning(of: Self.errorsPath(profile)) }
            try? FileManager.default.removeItem(atPath: profile)
            hasEnded.signal()
        }
    }

    /// Calls `start` on a new thread, which lives until `end`.
    private static func onThread(
        until end: DispatchSemaphore, _ start: @escaping @Sendable () throws(BrowserError) -> pid_t
    ) throws(BrowserError) -> pid_t {
        let result = Locked<Result<pid_t, BrowserError>?>(nil)
        let isStarted = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            csystem_name_this_thread("browser")
            let started: Result<pid_t, BrowserError>
            do throws(BrowserError) { started = .success(try start()) } catch { started = .failure(error) }
            result.withLock { $0 = started }
            isStarted.signal()
            if case .success = started { end.wait() }
        }
        isStarted.wait()
        return try result.withLock { $0! }.get()
    }

    /// The first line that the process wrote to its standard error; empty while it runs.
    var complaint: String { errors.withLock(\.self) }

    private static func errorsPath(_ profile: String) -> String { profile + "/errors" }

    private static func beginning(of path: String) -> String {
        guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.read(upToCount: 4000) else {
            return ""
        }
        // Chromium complains of D-Bus on every machine without a desktop.
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.contains("dbus/") }
        return lines.first.map(String.init) ?? ""
    }

    /// The bytes of memory that the process group holds for itself, without the pages of files that it shares.
    var memory: Int64 {
        let page = Int64(sysconf(Int32(_SC_PAGESIZE)))
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.reduce(0) { sum, name in
            guard let other = pid_t(name), getpgid(other) == id,
                let text = try? String(contentsOfFile: "/proc/\(name)/statm", encoding: .utf8)
            else { return sum }
            let counts = text.split(separator: " ").compactMap { Int64($0) }
            return counts.count > 2 ? sum + (counts[1] - counts[2]) * page : sum
        }
    }

    private static let prefix = "larder-browser-"

    /// Removes the profiles of browsers that ended together with their Larder, as after a SIGKILL.
    private static func removeLeftovers(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = directory + "/" + name
            // Another process may have made the directory a moment ago, and lock it next.
            var facts = stat()
            guard lstat(path, &facts) == 0, facts.st_mtim.tv_sec < time(nil) - 60 else { continue }
            let lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard lock >= 0 else { continue }
            defer { close(lock) }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
        }
    }

    /// Makes an empty directory that only the browser's user can read.
    private static func makeProfile(in directory: String, for user: BrowserLaunch.User?) throws(BrowserError) -> String
    {
        var template = Array("\(directory)/\(prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .start("no directory can be made in \(directory): \(String(cString: strerror(errno)))")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if let user, chown(path, user.id, user.group) != 0 {
            rmdir(path)
            throw .start("\(path) cannot be given to user \(user.id): \(String(cString: strerror(errno)))")
        }
        return path
    }

    /// Starts the first element of `command`, which is looked up in PATH, in a new process group. Chromium expects its
    /// pipes as descriptors 3 and 4.
    private static func spawn(
        _ command: [String], _ environment: [String], reading: Int32, writing: Int32, errors: String
    ) throws(BrowserError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        // The copies above 9 keep one `dup2` from closing the other pipe.
        let copies = [fcntl(reading, F_DUPFD_CLOEXEC, 10), fcntl(writing, F_DUPFD_CLOEXEC, 10)]
        defer { copies.forEach { close($0) } }
        posix_spawn_file_actions_adddup2(&actions, copies[0], 3)
        posix_spawn_file_actions_adddup2(&actions, copies[1], 4)
        csystem_close_from(&actions, 5)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var arguments = command.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, command[0], &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw .start("\(command[0]): \(String(cString: strerror(code)))") }
        return id
    }
}
