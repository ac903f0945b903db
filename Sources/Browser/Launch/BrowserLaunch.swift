import Glibc

/// The command that starts Chromium. Chromium runs in an empty network namespace, so that its pages reach no host,
/// never as root, and always with its own sandbox.
///
/// The commands `unshare` and `setpriv` are those of util-linux. They replace themselves with the next command, so that
/// the process is Chromium in the end. Chromium gets SIGKILL when the thread that started it ends.
package struct BrowserLaunch: Sendable {
    /// The user of the browser's processes.
    package struct User: Hashable, Sendable {
        package var id: UInt32
        package var group: UInt32

        /// The user of Linux that owns no files.
        package static let nobody = User(id: 65534, group: 65534)

        init(id: UInt32, group: UInt32) {
            self.id = id
            self.group = group
        }

        /// Looks a name up in the system's list of users; `nil` for an unknown name and for root, because a hole in
        /// Chromium would give a page root's rights.
        package init?(named name: String) {
            var (record, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
            var buffer = [CChar](repeating: 0, count: 16 << 10)
            guard getpwnam_r(name, &record, &buffer, buffer.count, &found) == 0, found != nil, record.pw_uid != 0
            else { return nil }
            self.init(id: record.pw_uid, group: record.pw_gid)
        }
    }

    /// The path of Chromium's executable.
    package let program: String
    /// `nil`: the user of this process, which is not root's.
    package let user: User?

    /// `user` is the user of Chromium if this process is root's; a process of another user shares that user with
    /// Chromium.
    package init(program: String, user: User = .nobody) {
        self.program = program
        self.user = geteuid() == 0 ? user : nil
    }

    /// The command and its arguments. `profile` is the directory for Chromium's own files.
    func command(profile: String) -> [String] {
        let confinement =
            if let user {
                ["unshare", "--net", "--"] + Self.becoming(user, ["--pdeathsig=KILL"])
            } else {
                ["unshare", "--user", "--map-current-user", "--net", "--", "setpriv", "--pdeathsig=KILL", "--"]
            }
        return confinement + [program] + Self.flags + ["--user-data-dir=\(profile)"]
    }

    /// The beginning of a command that runs with the rights of a user.
    static func becoming(_ user: User, _ options: [String] = []) -> [String] {
        ["setpriv", "--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups"] + options + ["--"]
    }

    /// Chromium sees none of this process's environment, which may have secrets.
    func environment(profile: String) -> [String] {
        ["HOME=\(profile)", "TMPDIR=\(profile)"] + Self.minimalEnvironment
    }

    static let minimalEnvironment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC"]

    private static let flags = [
        "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-crash-reporter",
        "--mute-audio", "--hide-scrollbars", "--password-store=basic", "--no-pings", "--disable-quic",
        // The shared memory of a container is often too small for Chromium.
        "--disable-dev-shm-usage",
        // The network namespace has no route. These flags keep Chromium from trying.
        "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        // The first two would change or refuse requests that Larder answers itself.
        "--disable-features=HttpsUpgrades,LocalNetworkAccessChecks,OptimizationHints,MediaRouter,Translate",
    ]
}
