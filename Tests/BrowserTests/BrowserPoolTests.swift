import Foundation
import Primitives
import TestSupport
import Testing

@testable import Browser

@Suite(
    "The pool of browsers", .serialized,
    .enabled(if: Chromium.isUsable, "Chromium and network namespaces are necessary"))
struct BrowserPoolTests {
    private let launch = BrowserLaunch(program: Chromium.path)

    /// Opens a page that stays until `gate` opens.
    private func hold(
        _ pool: BrowserPool, isOpen: Gate, until gate: Gate
    ) -> Task<Result<Void, BrowserError>, Never> {
        Task {
            do throws(BrowserError) {
                try await pool.withPage(width: 400, height: 300, asked: { $0.refuse($1) }) { _ in
                    isOpen.open()
                    try? await gate.wait()
                }
                return .success(())
            } catch { return .failure(error) }
        }
    }

    private func waitForWaiter(of pool: BrowserPool) async throws {
        try await poll("a page waits for a place") { await pool.waitingCount == 1 }
    }

    @Test("A further page waits for a place, and a cancelled task waits no longer", .timeLimit(.minutes(1)))
    func places() async throws {
        var limits = BrowserPool.Limits()
        limits.pages = 1
        let pool = BrowserPool(launch, in: "/tmp", limits: limits)
        defer { pool.stop() }
        let (isOpen, end) = (Gate("the first page is open"), Gate("the first page may close"))
        let first = hold(pool, isOpen: isOpen, until: end)
        try await isOpen.wait()
        let (isNextOpen, isLastOpen) = (Gate("the second page is open"), Gate("the third page is open"))
        let second = hold(pool, isOpen: isNextOpen, until: end)
        try await waitForWaiter(of: pool)
        second.cancel()
        await #expect(throws: BrowserError.ended) { try await second.value.get() }
        #expect(!isNextOpen.isOpen)
        let third = hold(pool, isOpen: isLastOpen, until: end)
        try await waitForWaiter(of: pool)
        #expect(!isLastOpen.isOpen)
        end.open()
        try await first.value.get()
        try await third.value.get()
        #expect(isLastOpen.isOpen)
    }

    @Test("A worn browser ends after its last page, and its successor shows the further pages", .timeLimit(.minutes(2)))
    func replacement() async throws {
        var limits = BrowserPool.Limits()
        limits.pagesOfBrowser = 2
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        func browsers() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: directory).count }
        let pool = BrowserPool(launch, in: directory, limits: limits)
        defer { pool.stop() }
        // One page is open at each time, so the browser is never without a page.
        var open = (task: Task<Result<Void, BrowserError>, Never>?.none, end: Gate?.none)
        for number in 1...5 {
            let (isOpen, end) = (Gate("page \(number) is open"), Gate("page \(number) may close"))
            let task = hold(pool, isOpen: isOpen, until: end)
            try await isOpen.wait()
            open.end?.open()
            try await open.task?.value.get()
            open = (task, end)
        }
        #expect(try browsers() <= 2)
        open.end?.open()
        try await open.task?.value.get()
        #expect(try browsers() == 1)
        pool.stop()
        #expect(try browsers() == 0)
        await #expect(throws: BrowserError.ended) {
            try await pool.withPage(width: 400, height: 300, asked: { $0.refuse($1) }) { _ in }
        }
    }

    /// Kills the processes that have a profile in their commands. Returns their number.
    private func killBrowser(with profile: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").count { name in
            guard let id = pid_t(name), let command = FileManager.default.contents(atPath: "/proc/\(name)/cmdline"),
                String(decoding: command, as: UTF8.self).contains(profile)
            else { return false }
            return kill(id, SIGKILL) == 0
        }
    }

    @Test(
        "A browser that was killed, and one with a crashed page, are replaced for the next page",
        .timeLimit(.minutes(2)))
    func failures() async throws {
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pool = BrowserPool(launch, in: directory)
        defer { pool.stop() }
        func profile() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory) }
        try await pool.withPage(width: 400, height: 300, asked: { $0.refuse($1) }) { _ in }
        let first = try profile()
        #expect(try killBrowser(with: first[0]) > 0)
        try await pool.withPage(width: 400, height: 300, asked: { $0.refuse($1) }) { _ in }
        let second = try profile()
        #expect(first.count == 1 && second.count == 1 && first != second)
        await #expect(throws: BrowserError.self) {
            try await pool.withPage(width: 400, height: 300, asked: { $0.pass($1) }) { page throws(BrowserError) in
                try await page.navigate(to: "chrome://crash", before: .now + .seconds(30))
            }
        }
        try await pool.withPage(width: 400, height: 300, asked: { $0.refuse($1) }) { _ in }
        #expect(try profile().count == 1)
    }

    @Test("A browser with too much memory is replaced", .timeLimit(.minutes(1)))
    func memory() async throws {
        var limits = BrowserPool.Limits()
        limits.memory = 1 << 20
        let directory = try Chromium.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pool = BrowserPool(launch, in: directory, limits: limits)
        defer { pool.stop() }
        try await pool.withPage(width: 400, height: 300, asked: { $0.refuse($1) }) { _ in }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
}
