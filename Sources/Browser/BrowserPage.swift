import Dispatch
import Foundation
import Primitives

/// A page of a ``Browser``, with all frames, workers and windows that it opens.
///
/// Invariant: `state` is locked. The connection's queue calls ``handle(_:)`` and
/// ``prepare(session:type:target:)``.
package final class BrowserPage: Sendable {
    private struct State {
        /// The session of the page's own target, once it is attached.
        var session: String?
        var isPrepared = false
        var frame: String?
        var url: String?
        var end: BrowserError?
        var attaching: CheckedContinuation<Void, Never>?
    }

    /// The browser context: cookies and storage belong to it.
    let context: String
    private let connection: DevToolsConnection
    private let asked: @Sendable (BrowserPage, BrowserRequest) -> Void
    private let state = Locked(State())

    private let size: (width: Int, height: Int)

    init(
        context: String, width: Int, height: Int, connection: DevToolsConnection,
        asked: @escaping @Sendable (BrowserPage, BrowserRequest) -> Void
    ) {
        self.context = context
        size = (width, height)
        self.connection = connection
        self.asked = asked
    }

    // MARK: - For callers

    // The calls throw ``BrowserError/timedOut(_:)`` at their deadlines.

    /// Begins to load a URL. Returns when the document's head has arrived. Throws ``BrowserError/refused(_:_:)`` when
    /// the document cannot be loaded.
    package func navigate(to url: String, before deadline: ContinuousClock.Instant) async throws(BrowserError) {
        let result = try await send("Page.navigate", ["url": .string(url)], before: deadline)
        if let reason = result["errorText"]?.stringValue { throw .refused("Page.navigate", reason) }
    }

    /// The URL of the page's document, with its fragment; `nil` before the first navigation.
    package var url: String? { state.withLock(\.url) }

    /// Runs a script in the page's document, in a world of its own: the page's scripts cannot change its functions.
    /// Waits for its promise. Throws ``BrowserError/refused(_:_:)`` for an exception.
    package func run(
        _ script: PageScript, before deadline: ContinuousClock.Instant
    ) async throws(BrowserError) -> JSON {
        guard let frame = state.withLock(\.frame) else {
            throw .refused("Runtime.evaluate", "the page has no document")
        }
        let world = try await send(
            "Page.createIsolatedWorld", ["frameId": .string(frame), "worldName": "larder"], before: deadline)
        let result = try await send(
            "Runtime.evaluate",
            [
                "expression": .string(script.expression), "contextId": world["executionContextId"] ?? .null,
                "awaitPromise": true, "returnByValue": true,
            ], before: deadline)
        if let exception = result["exceptionDetails"] {
            throw .refused("Runtime.evaluate", exception["exception"]?["description"]?.stringValue ?? "an exception")
        }
        return result["result"]?["value"] ?? .null
    }

    /// Takes a picture of the top of the page, as JPEG. `scale` 0.25 makes a picture of a quarter of the width.
    package func screenshot(
        width: Int, height: Int, scale: Double, before deadline: ContinuousClock.Instant
    ) async throws(BrowserError) -> [UInt8] {
        let result = try await send(
            "Page.captureScreenshot",
            [
                "format": "jpeg", "quality": 60, "optimizeForSpeed": true,
                "clip": [
                    "x": 0, "y": 0, "width": .number(width), "height": .number(height),
                    "scale": .number(String(scale)),
                ],
            ], before: deadline)
        guard let bytes = result["data"]?.stringValue.flatMap({ Data(base64Encoded: $0) }) else {
            throw .refused("Page.captureScreenshot", "it sent no picture")
        }
        return Array(bytes)
    }

    /// Stops the script that is running, which may never end by itself.
    package func stopScript() {
        guard let session = state.withLock(\.session) else { return }
        connection.post(DevToolsCommand(method: "Runtime.terminateExecution", session: session))
    }

    /// Answers a request. `response` is called when the browser is ready for it. The browser follows a redirect by
    /// itself, with a new request.
    package func fulfill(_ request: BrowserRequest, with response: @escaping @Sendable () -> BrowserResponse?) {
        connection.post {
            guard let response = response() else { return Self.refusal(of: request) }
            guard response.isAccepted else { return Self.refusal(of: request) }
            return DevToolsCommand(
                method: "Fetch.fulfillRequest",
                parameters: [
                    "requestId": .string(request.number), "responseCode": .number(response.status),
                    "binaryResponseHeaders": .string(response.encodedFields),
                    "body": .string(Data(response.body).base64EncodedString()),
                ], session: request.session)
        }
    }

    /// Ends a request without a response.
    package func refuse(_ request: BrowserRequest) { connection.post(Self.refusal(of: request)) }

    /// Lets the browser answer a request by itself, such as one for a `data:` URL.
    package func pass(_ request: BrowserRequest) {
        connection.post(
            DevToolsCommand(
                method: "Fetch.continueRequest", parameters: ["requestId": .string(request.number)],
                session: request.session))
    }

    private static func refusal(of request: BrowserRequest) -> DevToolsCommand {
        DevToolsCommand(
            method: "Fetch.failRequest",
            parameters: ["requestId": .string(request.number), "errorReason": "Failed"], session: request.session)
    }

    private func send(
        _ method: String, _ parameters: JSON, before deadline: ContinuousClock.Instant
    ) async throws(BrowserError) -> JSON {
        let (session, end) = state.withLock { ($0.session, $0.end) }
        if let end { throw end }
        let command = DevToolsCommand(method: method, parameters: parameters, session: session)
        do throws(BrowserError) {
            return try await connection.send(command, before: deadline)
        } catch {
            throw state.withLock(\.end) ?? error
        }
    }

    // MARK: - For the browser

    /// Waits until the page's own target is attached, and has its commands.
    func attached() async throws(BrowserError) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(10)) { [weak self] in
            guard let self, !state.withLock(\.isPrepared) else { return }
            end(.timedOut("Target.createTarget"))
        }
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if !state.isPrepared, state.end == nil { state.attaching = continuation }
                return state.attaching == nil
            }
            if isDone { continuation.resume() }
        }
        if let end = state.withLock(\.end) { throw end }
        // The browser keeps the script of `setting` for the next document when the renderer has answered, and the first
        // navigation changes the renderer. Without this round trip, some documents found `navigator.onLine` false.
        _ = try await send("Runtime.evaluate", ["expression": "0"], before: .now + .seconds(10))
    }

    /// The page is closed or has crashed.
    func end(_ reason: BrowserError) {
        let attaching = state.withLock { state in
            if state.end == nil { state.end = reason }
            return state.attaching.take()
        }
        attaching?.resume()
    }

    /// Prepares a target that waits for its start. The first target is the page itself.
    func prepare(session: String, type: String, target: String) {
        let isOwn = state.withLock { state in
            guard type == "page", state.session == nil else { return false }
            state.session = session
            state.frame = target
            return true
        }
        func post(_ method: String, _ parameters: JSON = [:]) {
            connection.post(DevToolsCommand(method: method, parameters: parameters, session: session))
        }
        if type == "page", !isOwn {
            // A window that the page has opened.
            return connection.post(
                DevToolsCommand(method: "Target.closeTarget", parameters: ["targetId": .string(target)]))
        }
        post("Fetch.enable", ["patterns": [["urlPattern": "*"]]])
        connection.post(.autoAttach(session: session))
        if isOwn {
            post("Page.enable")
            post("Inspector.enable")
            post("Network.enable")
            post("Network.setBypassServiceWorker", ["bypass": true])
            post(
                "Emulation.setDeviceMetricsOverride",
                [
                    "width": .number(size.width), "height": .number(size.height), "deviceScaleFactor": 1,
                    "mobile": false,
                ])
        }
        if type == "page" || type == "iframe" {
            // Without a network, `navigator.onLine` is false, and some pages then show only this fact. No reader can
            // close the window either.
            post("Page.addScriptToEvaluateOnNewDocument", ["source": .string(Self.setting)])
        }
        post("Runtime.runIfWaitingForDebugger")
        guard isOwn else { return }
        // A navigation in front of these commands would not wait for this process.
        let attaching = state.withLock { state in
            state.isPrepared = true
            return state.attaching.take()
        }
        attaching?.resume()
    }

    private static let setting = """
        Object.defineProperty(Navigator.prototype, "onLine", { get: () => true, configurable: true });
        window.close = function close() {};
        """

    func handle(_ event: DevToolsEvent) {
        switch event.method {
        case "Fetch.requestPaused":
            if let request = BrowserRequest(event) { asked(self, request) }
        case "Page.frameNavigated":
            let frame = event.parameters["frame"]
            guard frame?["parentId"] == nil, let url = frame?["url"]?.stringValue else { return }
            state.withLock { state in
                guard event.session == state.session else { return }
                state.url = url + (frame?["urlFragment"]?.stringValue ?? "")
                state.frame = frame?["id"]?.stringValue ?? state.frame
            }
        case "Page.javascriptDialogOpening":
            connection.post(
                DevToolsCommand(
                    method: "Page.handleJavaScriptDialog",
                    // Only `beforeunload` must be accepted: it asks whether the page may close.
                    parameters: ["accept": .bool(event.parameters["type"]?.stringValue == "beforeunload")],
                    session: event.session))
        case "Inspector.targetCrashed":
            guard let session = event.session, session == state.withLock(\.session) else { return }
            end(.crashed)
            connection.fail(session, .crashed)
        default: break
        }
    }
}
