import CSystem
import Glibc

/// A command in a process group of its own.
struct SpawnedCommand: Sendable {
    /// The id of the process and of its group.
    let id: pid_t

    /// Starts the first of `words`, which is looked up in PATH. The process gets only the descriptors that are given
    /// here, by their numbers in the process, and `/dev/null` for its missing input and outputs.
    init(
        _ words: [String], environment: [String], descriptors: [(own: Int32, number: Int32)] = []
    ) throws(BrowserError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for number in 0...2 as ClosedRange<Int32> {
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
        }
        // The copies above 9 keep one `dup2` from closing the source of another.
        let copies = descriptors.map { fcntl($0.own, F_DUPFD_CLOEXEC, 10) }
        defer { for copy in copies where copy >= 0 { close(copy) } }
        for (copy, descriptor) in zip(copies, descriptors) {
            posix_spawn_file_actions_adddup2(&actions, copy, descriptor.number)
        }
        csystem_close_from(&actions, max(2, descriptors.map(\.number).max() ?? 2) + 1)

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

        var arguments = words.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, words[0], &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw .start("\(words[0]): \(String(cString: strerror(code)))") }
        self.id = id
    }

    /// Waits for the end of the process. Call once.
    func wait() {
        var status: Int32 = 0
        while waitpid(id, &status, 0) == -1, errno == EINTR {}
    }

    /// Kills the process and all others of its group. Call before ``wait()``, which frees the id.
    func kill() { Glibc.kill(-id, SIGKILL) }
}
