import Foundation
import Primitives
import Testing

@testable import Browser

/// With a Chromium that works. scripts/check-pages tests captures with it.
@Suite("The browser", .serialized, .enabled(if: Chromium.isUsable, "Chromium and network namespaces are necessary"))
struct BrowserTests {
    private let launch = BrowserLaunch(program: Chromium.path)

    @Test("A page gets its document from this process, and runs scripts", .timeLimit(.minutes(1)))
    func page() async throws {
        let browser = try await Browser.start(launch, in: "/tmp")
        defer { browser.close() }
        let page = try await browser.open(width: 800, height: 600) { page, request in
            guard request.url == "https://example.com/" else { return page.refuse(request) }
            page.fulfill(request) {
                let text = "<title>a</title><body><script>document.title += innerWidth</script>"
                return BrowserResponse(
                    status: 200, fields: [(name: "Content-Type", value: Array("text/html".utf8))],
                    body: Array(text.utf8))
            }
        }
        try await page.navigate(to: "https://example.com/", timeout: .seconds(20))
        let script = PageScript.snapshot(url: "https://example.com/", limit: 1000, time: .seconds(5))
        // The navigation ends with the head of the response, so before the script.
        while (try? await page.run(script, timeout: .seconds(10)).stringValue?.contains("<title>a800</title>")) != true
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(page.url == "https://example.com/")
        await browser.close(page)
        await #expect(throws: BrowserError.ended) { try await page.run(script, timeout: .seconds(10)) }
    }

    @Test("A page that crashes ends its commands at once, and the browser lives", .timeLimit(.minutes(1)))
    func crash() async throws {
        let browser = try await Browser.start(launch, in: "/tmp")
        defer { browser.close() }
        let page = try await browser.open(width: 800, height: 600) { page, request in page.pass(request) }
        // The browser may end the navigation before it tells of the crash.
        await #expect(throws: BrowserError.self) {
            try await page.navigate(to: "chrome://crash", timeout: .seconds(30))
        }
        let script = PageScript.scroll(time: .seconds(1))
        await #expect(throws: BrowserError.crashed) { try await page.run(script, timeout: .seconds(30)) }
        await browser.close(page)
        #expect(!browser.hasEnded)
    }

    @Test("The end of the browser ends all commands, and removes its files", .timeLimit(.minutes(1)))
    func end() async throws {
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let browser = try await Browser.start(launch, in: directory)
        #expect(browser.memory > 10 << 20)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1)
        let page = try await browser.open(width: 800, height: 600) { _, _ in }
        browser.close()
        await #expect(throws: BrowserError.ended) { try await page.navigate(to: "http://a/", timeout: .seconds(20)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
}

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
        try Data("#!/bin/sh\necho no browser >&2\n".utf8).write(to: URL(fileURLWithPath: program))
        chmod(program, 0o755)
        let error = await #expect(throws: BrowserError.self) {
            try await Browser.start(BrowserLaunch(program: program), in: directory)
        }
        guard case .start(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Without the rights for a network namespace, unshare gives its own reason.
        #expect(reason == "no browser" || reason.contains("unshare"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["program"])
    }
}

enum Chromium {
    static let path = "/usr/lib/chromium/chromium"

    /// Makes a directory that another user can search. Its path is short, because Chromium makes a socket below it.
    static func makeDirectory() throws -> String {
        var template = Array("/tmp/browser-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
        return path
    }

    /// Whether Chromium is installed, and this process may make a network namespace.
    static let isUsable: Bool = {
        guard access(path, X_OK) == 0 else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = geteuid() == 0 ? ["--net", "true"] : ["--user", "--map-current-user", "--net", "true"]
        return (try? process.run()) != nil
            && {
                process.waitUntilExit(); return process.terminationStatus == 0
            }()
    }()
}
