import Primitives

/// A running Chromium. All requests of its pages wait until this process answers them; the browser itself reaches no
/// network.
///
/// ```swift
/// let browser = try await Browser.start(launch, in: "/tmp")
/// let page = try await browser.open(width: 1280, height: 900) { page, request in page.refuse(request) }
/// ```
package final class Browser: Sendable {
    private let process: BrowserProcess
    private let connection: DevToolsConnection
    private let sessions: SessionTable

    /// Starts the browser, and waits until it answers. `directory` is for the browser's own files, which disappear with
    /// it.
    package static func start(_ launch: BrowserLaunch, in directory: String) async throws(BrowserError) -> Browser {
        let started = await BlockingCall.run { () -> Result<BrowserProcess, BrowserError> in
            do throws(BrowserError) {
                return .success(try BrowserProcess(launch, in: directory))
            } catch {
                return .failure(error)
            }
        }
        let browser = Browser(try started.get())
        do {
            _ = try await browser.connection.send(
                DevToolsCommand(method: "Browser.getVersion"), before: .now + .seconds(30))
            // Each new target waits until it has its commands, so that none of its requests escapes.
            _ = try await browser.connection.send(.autoAttach(session: nil))
        } catch {
            await browser.end()
            let complaint = browser.process.complaint
            throw error == .ended && !complaint.isEmpty ? .start(complaint) : .start(error.description)
        }
        return browser
    }

    private init(_ process: BrowserProcess) {
        self.process = process
        let connection = DevToolsConnection(process)
        let sessions = SessionTable(connection)
        (self.connection, self.sessions) = (connection, sessions)
        connection.start(received: { sessions.handle($0) }, ended: { sessions.end() })
    }

    deinit { close() }

    /// Opens an empty page with cookies and storage of its own. `asked` is called for each request of the page, and
    /// must not wait.
    package func open(
        width: Int, height: Int, asked: @escaping @Sendable (BrowserPage, BrowserRequest) -> Void
    ) async throws(BrowserError) -> BrowserPage {
        let made = try await connection.sendInAnyCase(
            DevToolsCommand(method: "Target.createBrowserContext", parameters: ["disposeOnDetach": true]))
        guard let context = made["browserContextId"]?.stringValue else { throw .refused("createBrowserContext", "") }
        let page = BrowserPage(
            context: context, width: width, height: height, connection: connection, asked: asked)
        sessions.add(page)
        do {
            connection.post(
                DevToolsCommand(
                    method: "Browser.setDownloadBehavior",
                    parameters: ["behavior": "deny", "browserContextId": .string(context)]))
            _ = try await connection.send(
                DevToolsCommand(
                    method: "Target.createTarget",
                    parameters: [
                        "url": "about:blank", "browserContextId": .string(context), "width": .number(width),
                        "height": .number(height),
                    ]))
            try await page.attached()
        } catch {
            await close(page)
            throw error
        }
        return page
    }

    /// Closes a page with its frames, workers and windows, also in a cancelled task.
    package func close(_ page: BrowserPage) async {
        sessions.remove(page)
        page.end(.ended)
        let command = DevToolsCommand(
            method: "Target.disposeBrowserContext", parameters: ["browserContextId": .string(page.context)])
        // A browser that cannot close a page would fill up.
        if (try? await connection.sendInAnyCase(command)) == nil { await end() }
    }

    /// Whether the browser has ended, by ``close()`` or by itself.
    package var hasEnded: Bool { connection.isEnded }

    /// The bytes of memory of all its processes; 0 after the end.
    package var memory: Int64 {
        get async { await BlockingCall.run { [process] in process.memory } }
    }

    /// Ends the browser, and removes its files. Blocks until the end of its processes, which takes a moment.
    package func close() { connection.close() }

    /// As ``close()``, for tasks: their threads must not block.
    func end() async { await BlockingCall.run { [self] in close() } }
}

extension DevToolsCommand {
    /// Attaches to all targets that the session's target opens: frames of other sites, workers and windows. Each waits
    /// for `Runtime.runIfWaitingForDebugger`.
    static func autoAttach(session: String?) -> DevToolsCommand {
        DevToolsCommand(
            method: "Target.setAutoAttach",
            parameters: [
                "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
                "filter": [
                    ["type": "browser", "exclude": true], ["type": "tab", "exclude": true],
                    ["type": "browser_ui", "exclude": true], [:],
                ],
            ], session: session)
    }
}
