import Dispatch
import Larder
import MicroHTTPD
import Primitives

/// Runs at most ``window`` requests of a `POST /downloads` at once, and writes a line for each as it ends. No request
/// starts while the client has not read the lines so far, so a batch takes no more memory than its text and ``window``
/// lines. No request starts on the connection's thread.
final class BatchRun: Sendable {
    static let window = 512

    private struct State {
        var next = 0
        var left: Int
        var underWay = 0
        var hasRoom = true
        var isAbandoned = false
        /// The unfinished requests, by index, as waiters of their downloads; `nil` for a request that is just starting.
        var places: [Int: DownloadManager.Place?] = [:]
        /// The number of requests that have changed the cache since the last audit line.
        var changes = 0
    }

    private static let queue = DispatchQueue(label: "larder.batches")

    /// Holds the namespace until the run ends.
    private let context: RequestContext
    private let clock: any WallClock
    private let elements: [BatchElement]
    private let stream = ResponseStream()
    private let state: Locked<State>

    init(_ context: RequestContext, clock: any WallClock, elements: [BatchElement]) {
        self.context = context
        self.clock = clock
        self.elements = elements
        state = Locked(State(left: elements.count))
    }

    func run(_ call: Call) {
        // The stream and this object hold each other until the stream is closed.
        stream.onClose { self.abandon() }
        call.respond(
            Response(
                status: 200,
                fields: [.contentType: "application/x-ndjson", .cacheControl: Response.notStored.value],
                body: .stream(stream, length: nil)))
        if elements.isEmpty { stream.finish() }
        goOn()
    }

    private func goOn() {
        Self.queue.async { [self] in
            while let index = takeNext() { begin(index) }
        }
    }

    private func takeNext() -> Int? {
        state.withLock { state in
            guard !state.isAbandoned, state.hasRoom, state.underWay < Self.window, state.next < elements.count else {
                return nil
            }
            defer {
                state.next += 1
                state.underWay += 1
            }
            return state.next
        }
    }

    private func begin(_ index: Int) {
        let request: DownloadRequest
        do throws(Problem) {
            request = try DownloadRequest(try elements[index].json())
            try context.visitor.check(request)
        } catch {
            end(index, [.init("error", error.prefixed(index).json)])
            return
        }
        state.withLock { $0.places[index] = .some(nil) }
        let downloads = context.namespace.downloads
        let place = downloads.download(request) { [self] result in
            switch result {
            case .success(let success):
                if success.isChange { state.withLock { $0.changes += 1 } }
                end(index, success.members(at: clock.now()))
            case .failure(let error): end(index, [.init("error", Problem(error).prefixed(index).json)])
            }
        }
        guard let place else { return }
        let isAbandoned = state.withLock { state in
            // The download may have ended already.
            if state.places[index] != nil { state.places[index] = place }
            return state.isAbandoned
        }
        if isAbandoned { downloads.leave(place, givingUp: true) }
    }

    private func end(_ index: Int, _ members: [JSON.Member]) {
        var line = JSON.object([.init("index", .number(index))] + members).utf8
        line.append(UInt8(ascii: "\n"))
        let isFull = if case .full = stream.write(line) { true } else { false }
        let isLast = state.withLock { state in
            state.left -= 1
            state.underWay -= 1
            state.places.removeValue(forKey: index)
            if isFull { state.hasRoom = false }
            return state.left == 0
        }
        if isLast {
            noteChanges()
            stream.finish()
        } else if isFull {
            stream.onRoom { [self] in
                state.withLock { $0.hasRoom = true }
                goOn()
            }
        } else {
            goOn()
        }
    }

    /// Ends the queued downloads for which no other caller waits, because the client has left. Running downloads go on.
    private func abandon() {
        let places = state.withLock { state in
            state.isAbandoned = true
            state.changes += state.places.count
            defer { state.places = [:] }
            return state.places.values.compactMap(\.self)
        }
        for place in places { context.namespace.downloads.leave(place, givingUp: true) }
        noteChanges()
    }

    /// Logs the number of requests that have changed the cache, or may still change it without their client.
    private func noteChanges() {
        let count = state.withLock { state in
            defer { state.changes = 0 }
            return state.changes
        }
        if count > 0 { context.noteChange("batch", count: count) }
    }
}

extension Problem {
    fileprivate func prefixed(_ index: Int) -> Problem {
        var problem = self
        problem.pointer = pointer.map { "/\(index)\($0)" }
        return problem
    }
}
