import Primitives

/// Keeps one browser running for the pages of all captures, and replaces it when it has become large.
package actor BrowserPool {
    /// The limits of the pool.
    package struct Limits: Sendable {
        /// The most pages at once.
        package var pages = 2
        /// A browser gets no further page after so many pages, or when it has more bytes of memory after a page.
        package var pagesOfBrowser = 50
        package var memory: Int64 = 1 << 30

        package init() {}
    }

    /// A browser, and its pages so far.
    private final class Held {
        let browser: Browser
        var openedCount = 0
        var openCount = 0

        init(_ browser: Browser) {
            self.browser = browser
        }
    }

    /// The browsers that have processes.
    private struct Running {
        var browsers: [Browser] = []
        var isStopped = false
    }

    private struct Waiter {
        let number: Int
        /// Resumed with whether the caller has a place.
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let launch: BrowserLaunch
    private let directory: String
    private let limits: Limits
    private let running = Locked(Running())
    /// The browser for new pages. A worn browser ends with its last page, beside the browser that replaces it.
    private var current: Held?
    private var starting: Task<Result<Void, BrowserError>, Never>?
    private var openCount = 0
    private var waiters: [Waiter] = []
    /// The number of tasks that wait for a place.
    var waitingCount: Int { waiters.count }
    private var waiterCount = 0

    /// `directory` is for the browser's own files.
    package init(_ launch: BrowserLaunch, in directory: String, limits: Limits = Limits()) {
        self.launch = launch
        self.directory = directory
        self.limits = limits
    }

    /// Runs `body` with a new page of the browser, which is started if necessary. Waits while too many pages are open.
    /// Closes the page at the end of `body`. When the task is cancelled, the call and the commands of the page throw
    /// ``BrowserError/ended``; only the start of a browser, which takes 40 s at most, is waited for.
    package func withPage<Value: Sendable>(
        width: Int, height: Int, asked: @escaping @Sendable (BrowserPage, BrowserRequest) -> Void,
        _ body: @Sendable (BrowserPage) async throws(BrowserError) -> Value
    ) async throws(BrowserError) -> Value {
        guard await takePlace() else { throw .ended }
        defer { givePlaceBack() }
        if Task.isCancelled { throw .ended }
        let (held, page) = try await open(width: width, height: height, asked: asked)
        let result: Result<Value, BrowserError>
        do {
            result = .success(try await body(page))
        } catch {
            result = .failure(error)
            // Perhaps the browser can start no process for pages any more.
            if error == .crashed { retire(held) }
        }
        await held.browser.close(page)
        await leave(held)
        return try result.get()
    }

    /// Opens a page. A browser that opens none is replaced once, because it may have been killed, or be busy with the
    /// last page.
    private func open(
        width: Int, height: Int, asked: @escaping @Sendable (BrowserPage, BrowserRequest) -> Void
    ) async throws(BrowserError) -> (Held, BrowserPage) {
        var isFirst = true
        while true {
            let held = try await browser()
            held.openedCount += 1
            held.openCount += 1
            do {
                return (held, try await held.browser.open(width: width, height: height, asked: asked))
            } catch {
                // A cancelled task is no sign of a broken browser.
                if !Task.isCancelled { retire(held) }
                await leave(held)
                guard isFirst, !Task.isCancelled else { throw error }
                isFirst = false
            }
        }
    }

    /// Ends the browsers. ``withPage(width:height:asked:_:)`` throws from now on. Waits for the end of the processes; a
    /// browser that is starting ends a moment later.
    package nonisolated func stop() {
        let browsers = running.withLock { running in
            running.isStopped = true
            return running.browsers
        }
        for browser in browsers { browser.close() }
    }

    // MARK: - Places

    /// Returns `false` for a cancelled task that has got no place.
    private func takePlace() async -> Bool {
        guard openCount >= limits.pages else {
            openCount += 1
            return true
        }
        waiterCount += 1
        let number = waiterCount
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume(returning: false) }
                waiters.append(Waiter(number: number, continuation: continuation))
            }
        } onCancel: {
            Task { await removeWaiter(number) }
        }
    }

    private func removeWaiter(_ number: Int) {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
        waiters.remove(at: index).continuation.resume(returning: false)
    }

    /// The first waiter gets the place.
    private func givePlaceBack() {
        if waiters.isEmpty {
            openCount -= 1
        } else {
            waiters.removeFirst().continuation.resume(returning: true)
        }
    }

    // MARK: - Browsers

    private func browser() async throws(BrowserError) -> Held {
        while !Task.isCancelled {
            if let current, !current.browser.hasEnded { return current }
            if starting == nil { starting = Task { await start() } }
            try await starting!.value.get()
        }
        throw .ended
    }

    private func start() async -> Result<Void, BrowserError> {
        defer { starting = nil }
        if running.withLock(\.isStopped) { return .failure(.ended) }
        do throws(BrowserError) {
            let browser = try await Browser.start(launch, in: directory)
            let isStopped = running.withLock { running in
                running.browsers.removeAll(where: \.hasEnded)
                running.browsers.append(browser)
                return running.isStopped
            }
            if isStopped {
                await browser.end()
                return .failure(.ended)
            }
            current = Held(browser)
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// The browser gets no further page.
    private func retire(_ held: Held) {
        if current === held { current = nil }
    }

    /// A page of the browser is closed. A worn browser gets no further page, and ends after its last one.
    private func leave(_ held: Held) async {
        held.openCount -= 1
        let memory = await held.browser.memory
        if held.openedCount >= limits.pagesOfBrowser || memory > limits.memory { retire(held) }
        if current !== held, held.openCount == 0 {
            await held.browser.end()
            running.withLock { $0.browsers.removeAll { $0 === held.browser } }
        }
    }
}
