import Foundation

/// The directory of a running browser's own files. It belongs to the browser's user, which may be hostile, so this
/// process opens and removes no file in it as root.
struct BrowserProfile: Sendable {
    let path: String
    /// Locks the directory, so that a later process knows whether a profile is in use.
    private let lock: Int32

    private static let prefix = "larder-browser-"
    /// Of a directory that is not locked yet.
    private static let newPrefix = "larder-browser-new-"

    /// Makes an empty directory below `directory` that only the browser's user can read.
    init(in directory: String, for user: BrowserLaunch.User?) throws(BrowserError) {
        var template = Array("\(directory)/\(Self.newPrefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .start("no directory can be made in \(directory): \(String(cString: strerror(errno)))")
        }
        let new = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = new.replacing(Self.newPrefix, with: Self.prefix)
        lock = open(new, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let isReady = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && rename(new, path) == 0
        guard isReady, user.map({ chown(path, $0.id, $0.group) == 0 }) ?? true else {
            let reason = String(cString: strerror(errno))
            if lock >= 0 { close(lock) }
            rmdir(new)
            rmdir(path)
            throw .start("\(path) cannot be given to the browser's user: \(reason)")
        }
    }

    /// Removes the directory with its files. Call once, after the end of the browser. Waits for the disk.
    func remove() {
        Self.remove(path)
        close(lock)
    }

    /// Removes the profiles of browsers that ended together with their Larder, as after a SIGKILL.
    static func removeLeftovers(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = directory + "/" + name
            // Another process may have made a new directory a moment ago, and lock it next.
            var facts = stat()
            guard lstat(path, &facts) == 0, !name.hasPrefix(newPrefix) || facts.st_mtim.tv_sec < time(nil) - 60
            else { continue }
            let lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard lock >= 0 else { continue }
            defer { close(lock) }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(path) }
        }
    }

    /// Removes the files with the rights of their owner: a directory that its owner replaces by a symbolic link
    /// meanwhile leads root to no other file. Only root needs this; everyone else owns the files.
    private static func remove(_ path: String) {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else { return }
        var words = ["rm", "-rf", "--", path]
        if geteuid() == 0, facts.st_uid != 0 {
            words = BrowserLaunch.becoming(BrowserLaunch.User(id: facts.st_uid, group: facts.st_gid)) + words
        }
        // The owner of a directory cannot remove it from /tmp, which belongs to root.
        try? SpawnedCommand(words, environment: BrowserLaunch.minimalEnvironment).wait()
        rmdir(path)
    }
}
