import Dispatch
import Primitives

/// Keeps one browser running for the pages of all captures, and replaces it when it has become large.
package actor BrowserPool {
    private let launch: BrowserLaunch
    private let directory: String
    private let current = Locked(Current())
    private var starting: Task<Result<Browser, BrowserError>, Never>?
    /// The pages that `browser` has opened so far, and those that are open.
    private var openedCount = 0
    private var openCount = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private struct Current {
        var browser: Browser?
        var isStopped = false
    }

    /// The most pages at once.
    static let pageLimit = 2
    /// The browser is replaced after so many pages, or when it has more memory.
    static let pagesOfBrowser = 50
    static let memoryLimit: Int64 = 1 << 30

    /// `directory` is for the browser's own files.
    package init(_ launch: BrowserLaunch, in directory: String) {
        self.launch = launch
        self.directory = directory
    }

    /// Runs `body` with a new page of the browser, which is started if necessary. Waits while too many pages are open.
    /// Closes the page at the end of `body`. `isWanted` is asked after the wait; the call then may throw
    /// ``BrowserError/ended``.
    package func withPage<Value: Sendable>(
        width: Int, height: Int, isWanted: @Sendable () -> Bool = { true },
        asked: @escaping @Sendable (BrowserPage, BrowserRequest) -> Void,
        _ body: @Sendable (BrowserPage) async throws(BrowserError) -> Value
    ) async throws(BrowserError) -> Value {
        await takePlace()
        defer { givePlaceBack() }
        guard isWanted() else { throw .ended }
        let browser = try await running()
        openedCount += 1
        let page = try await browser.open(width: width, height: height, asked: asked)
        let result: Result<Value, BrowserError>
        do {
            result = .success(try await body(page))
        } catch {
            result = .failure(error)
        }
        await browser.close(page)
        return try result.get()
    }

    /// Ends the browser. ``withPage(width:height:isWanted:asked:_:)`` throws from now on.
    package nonisolated func stop() {
        let browser = current.withLock { current in
            current.isStopped = true
            return current.browser.take()
        }
        browser?.close()
    }

    private func takePlace() async {
        while openCount >= Self.pageLimit {
            await withCheckedContinuation { waiting.append($0) }
        }
        openCount += 1
    }

    private func givePlaceBack() {
        openCount -= 1
        if !waiting.isEmpty { waiting.removeFirst().resume() }
    }

    /// The running browser. A browser that is too old or too large is replaced when no other page is open.
    private func running() async throws(BrowserError) -> Browser {
        if current.withLock(\.isStopped) { throw .ended }
        if let browser = current.withLock(\.browser), !browser.hasEnded {
            let isWorn = openedCount >= Self.pagesOfBrowser || browser.memory > Self.memoryLimit
            if !isWorn || openCount > 1 { return browser }
            browser.close()
        }
        if starting == nil {
            openedCount = 0
            starting = Task { [launch, directory] in
                do throws(BrowserError) {
                    return .success(try await Browser.start(launch, in: directory))
                } catch {
                    return .failure(error)
                }
            }
        }
        let result = await starting!.value
        starting = nil
        let browser = try result.get()
        let isStopped = current.withLock { current in
            if !current.isStopped { current.browser = browser }
            return current.isStopped
        }
        guard !isStopped else {
            browser.close()
            throw .ended
        }
        return browser
    }
}
