import Larder
import MicroHTTPD
import Primitives

/// The requests of one `POST /downloads`, run concurrently; each answers with a line as it ends.
final class BatchRun: Sendable {
    private struct State {
        var left: Int
        var places: [DownloadManager.Place] = []
        var isAbandoned = false
    }

    private let service: LarderService
    private let elements: [Result<JSON, Problem>]
    private let stream = ResponseStream()
    private let state: Locked<State>

    init(service: LarderService, elements: [Result<JSON, Problem>]) {
        self.service = service
        self.elements = elements
        state = Locked(State(left: elements.count))
    }

    /// Starts all of them and answers with the stream of their lines. What the client has not read yet waits in the
    /// stream: a line for each element, so it is bounded by the batch.
    func run(_ call: Call) {
        stream.onClose { [weak self] in self?.abandon() }
        call.respond(
            Response(
                status: 200, fields: [.contentType: "application/x-ndjson"], body: .stream(stream, length: nil)))
        guard !elements.isEmpty else {
            stream.finish()
            return
        }
        for (index, element) in elements.enumerated() {
            do {
                run(try DownloadRequest(try element.get()), index: index)
            } catch let problem {
                end(index, problem.prefixed(index))
            }
        }
    }

    private func run(_ request: DownloadRequest, index: Int) {
        // The closure keeps this object alive until its last line.
        let place = service.downloads.download(request) { [self] result in
            switch result {
            case .success(let success): write(index, success.members(at: service.clock.now()))
            case .failure(let error): end(index, Problem(error).prefixed(index))
            }
        }
        guard let place else { return }
        let isAbandoned = state.withLock { state in
            state.places.append(place)
            return state.isAbandoned
        }
        if isAbandoned { service.downloads.leave(place) }
    }

    private func end(_ index: Int, _ problem: Problem) {
        write(index, [.init("error", problem.json)])
    }

    private func write(_ index: Int, _ members: [JSON.Member]) {
        var line = JSON.object([.init("index", .number(index))] + members).utf8
        line.append(UInt8(ascii: "\n"))
        stream.write(line)
        let isLast = state.withLock { state in
            state.left -= 1
            return state.left == 0
        }
        if isLast { stream.finish() }
    }

    /// The client is gone: nobody waits for the downloads any more, but they go on.
    private func abandon() {
        let places = state.withLock { state in
            state.isAbandoned = true
            defer { state.places = [] }
            return state.places
        }
        for place in places { service.downloads.leave(place) }
    }
}

extension Problem {
    /// The same problem, pointing into the element of a batch.
    fileprivate func prefixed(_ index: Int) -> Problem {
        var problem = self
        problem.pointer = pointer.map { "/\(index)\($0)" }
        return problem
    }
}
