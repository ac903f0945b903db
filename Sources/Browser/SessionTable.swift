import Primitives

/// Gives each event to the page to which it belongs, and prepares each new target.
///
/// Invariant: `state` is locked. Only the connection's queue calls ``handle(_:)``.
final class SessionTable: Sendable {
    private struct State {
        /// By browser context.
        var pages: [String: BrowserPage] = [:]
        var sessions: [String: BrowserPage] = [:]
    }

    private let connection: DevToolsConnection
    private let state = Locked(State())

    init(_ connection: DevToolsConnection) {
        self.connection = connection
    }

    func add(_ page: BrowserPage) { state.withLock { $0.pages[page.context] = page } }

    func remove(_ page: BrowserPage) {
        state.withLock { state in
            state.pages[page.context] = nil
            state.sessions = state.sessions.filter { $0.value !== page }
        }
    }

    /// The browser has ended.
    func end() {
        let pages = state.withLock { state in
            defer { state = State() }
            return Array(state.pages.values)
        }
        for page in pages { page.end(.ended) }
    }

    func handle(_ event: DevToolsEvent) {
        switch event.method {
        case "Target.attachedToTarget": attached(event)
        case "Target.detachedFromTarget":
            guard let session = event.parameters["sessionId"]?.stringValue else { return }
            state.withLock { _ = $0.sessions.removeValue(forKey: session) }
        default:
            guard let session = event.session, let page = state.withLock({ $0.sessions[session] }) else { return }
            page.handle(event)
        }
    }

    private func attached(_ event: DevToolsEvent) {
        let info = event.parameters["targetInfo"]
        guard let session = event.parameters["sessionId"]?.stringValue, let type = info?["type"]?.stringValue else {
            return
        }
        let page = state.withLock { state in
            let parent = event.session.flatMap { state.sessions[$0] }
            let page = parent ?? info?["browserContextId"]?.stringValue.flatMap { state.pages[$0] }
            if let page { state.sessions[session] = page }
            return page
        }
        guard let page else {
            // A target of the browser itself, or of a page that is closed.
            return connection.post(
                DevToolsCommand(method: "Runtime.runIfWaitingForDebugger", session: session))
        }
        page.prepare(session: session, type: type, target: info?["targetId"]?.stringValue ?? "")
    }
}
