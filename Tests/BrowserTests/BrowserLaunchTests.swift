import Foundation
import Testing

@testable import Browser

@Suite("The start of the browser")
struct BrowserLaunchTests {
    @Test("The browser has no network, another user than root, and its sandbox")
    func command() {
        let command = BrowserLaunch(program: "/opt/chromium").command(profile: "/tmp/p")
        #expect(command.first == "unshare" && command.contains("--net") && command.contains("--pdeathsig=KILL"))
        #expect(command.contains(geteuid() == 0 ? "--reuid=65534" : "--map-current-user"))
        #expect(command.contains("/opt/chromium") && command.last == "--user-data-dir=/tmp/p")
        #expect(!command.contains { $0.contains("no-sandbox") })
    }

    @Test("A browser shares no variable of this process")
    func environment() {
        let names = BrowserLaunch(program: "/x").environment(profile: "/p").map { $0.prefix { $0 != "=" } }
        #expect(names == ["HOME", "TMPDIR", "PATH", "LANG", "TZ"])
    }

    @Test("Root and unknown names are no users for a browser")
    func users() {
        #expect(BrowserLaunch.User(named: "root") == nil && BrowserLaunch.User(named: "no-such-user") == nil)
        #expect(BrowserLaunch.User(named: "nobody") == .nobody)
    }

    @Test("A program that is no browser gives its first words as the reason", .timeLimit(.minutes(1)))
    func noBrowser() async throws {
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let program = directory + "/program"
        try Data("#!/bin/sh\nyes no browser | head -c 1000000 >&2\n".utf8).write(to: URL(fileURLWithPath: program))
        chmod(program, 0o755)
        let error = await #expect(throws: BrowserError.self) {
            try await Browser.start(BrowserLaunch(program: program), in: directory)
        }
        guard case .start(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Without the rights for a network namespace, unshare gives its own reason.
        #expect(Chromium.hasNamespaces ? reason == "no browser" : reason.contains("unshare"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["program"])
    }

    @Test("Root removes a profile with the rights of the browser's user", .enabled(if: geteuid() == 0))
    func removal() throws {
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let profile = try BrowserProfile(in: directory, for: .nobody)
        mkdir(profile.path + "/own", 0o755)
        chown(profile.path + "/own", 65534, 65534)
        try Data().write(to: URL(fileURLWithPath: profile.path + "/own/file"))
        // Only root may remove a file from this directory.
        mkdir(profile.path + "/other", 0o755)
        try Data().write(to: URL(fileURLWithPath: profile.path + "/other/file"))
        profile.remove()
        #expect(access(profile.path + "/own", F_OK) != 0)
        #expect(access(profile.path + "/other/file", F_OK) == 0)
    }

    @Test("A new browser removes the profile of an ended Larder, and not that of a running one")
    func leftovers() throws {
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let used = try BrowserProfile(in: directory, for: nil)
        let left = directory + "/larder-browser-left"
        mkdir(left, 0o700)
        let link = directory + "/larder-browser-link"
        symlink("/etc", link)
        // Another process may be about to lock this directory.
        let new = directory + "/larder-browser-new-other"
        mkdir(new, 0o700)
        BrowserProfile.removeLeftovers(in: directory)
        #expect(access(left, F_OK) != 0 && access(new, F_OK) == 0)
        var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
        lutimes(new, &times)
        BrowserProfile.removeLeftovers(in: directory)
        #expect(access(new, F_OK) != 0)
        #expect(access(used.path, F_OK) == 0 && access(link, F_OK) == 0)
        used.remove()
    }
}
