import Foundation
import Primitives
import TestSupport
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
        // The navigation ends with the head of the response, so before the script, which then asks for an image.
        let hasRun = Gate("the script of the page has run")
        let page = try await browser.open(width: 800, height: 600) { page, request in
            guard request.url == "https://example.com/" else {
                page.refuse(request)
                if request.url == "https://example.com/image" { hasRun.open() }
                return
            }
            page.fulfill(request) {
                let text =
                    "<title>a</title><body><script>document.title += innerWidth; new Image().src = 'image'</script>"
                return BrowserResponse(
                    status: 200, fields: [(name: "Content-Type", value: Array("text/html".utf8))],
                    body: Array(text.utf8))
            }
        }
        try await page.navigate(to: "https://example.com/", before: .now + .seconds(20))
        try await hasRun.wait()
        let script = PageScript.snapshot(url: "https://example.com/", limit: 1000, time: .seconds(5))
        let text = try await page.run(script, before: .now + .seconds(10)).stringValue
        #expect(text?.contains("<title>a800</title>") == true)
        #expect(page.url == "https://example.com/")
        await browser.close(page)
        await #expect(throws: BrowserError.ended) { try await page.run(script, before: .now + .seconds(10)) }
    }

    @Test("A cancelled task ends its command at once, and closes its page", .timeLimit(.minutes(1)))
    func cancellation() async throws {
        let browser = try await Browser.start(launch, in: "/tmp")
        defer { browser.close() }
        let isAsked = Gate("the page has asked for its document")
        // The request gets no answer.
        let page = try await browser.open(width: 800, height: 600) { _, _ in isAsked.open() }
        let navigation = Task { () -> BrowserError? in
            do throws(BrowserError) {
                try await page.navigate(to: "https://example.com/", before: .now + .seconds(50))
                return nil
            } catch { return error }
        }
        try await isAsked.wait()
        navigation.cancel()
        #expect(await navigation.value == .ended)
        let closing = Task { await browser.close(page) }
        closing.cancel()
        await closing.value
        #expect(!browser.hasEnded)
    }

    @Test("A page that crashes ends its commands at once, and the browser lives", .timeLimit(.minutes(1)))
    func crash() async throws {
        let browser = try await Browser.start(launch, in: "/tmp")
        defer { browser.close() }
        let page = try await browser.open(width: 800, height: 600) { page, request in page.pass(request) }
        // The browser may end the navigation before it tells of the crash.
        await #expect(throws: BrowserError.self) {
            try await page.navigate(to: "chrome://crash", before: .now + .seconds(30))
        }
        let script = PageScript.scroll(time: .seconds(1))
        await #expect(throws: BrowserError.crashed) { try await page.run(script, before: .now + .seconds(30)) }
        await browser.close(page)
        #expect(!browser.hasEnded)
    }

    @Test("The end of the browser ends all commands, and removes its files", .timeLimit(.minutes(1)))
    func end() async throws {
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let browser = try await Browser.start(launch, in: directory)
        #expect(await browser.memory > 10 << 20)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1)
        let page = try await browser.open(width: 800, height: 600) { _, _ in }
        browser.close()
        #expect(await browser.memory == 0)
        await #expect(throws: BrowserError.ended) {
            try await page.navigate(to: "http://a/", before: .now + .seconds(20))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
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
        access(path, X_OK) == 0 && hasNamespaces
    }()

    /// Whether this process may make a network namespace.
    static let hasNamespaces: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = geteuid() == 0 ? ["--net", "true"] : ["--user", "--map-current-user", "--net", "true"]
        return (try? process.run()) != nil
            && {
                process.waitUntilExit(); return process.terminationStatus == 0
            }()
    }()
}
