import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// Drives the requests of one connection, one after another: takes libmicrohttpd's calls, asks the handler, and queues
/// the answers. Only the thread that serves the connection uses this object. The socket context retains it.
final class ConnectionDriver {
    let connection: Connection
    let core: DaemonCore
    private let thread: ServingThread

    /// The target of the current request, until the head is complete. All requests of the connection reuse the buffer.
    private var target = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var targetCount = 0
    private var expectation = 0
    let requests = RequestBytes()
    private var exchange: Exchange?
    /// The ready answer that the handler gave to libmicrohttpd's first call, until the second call queues this answer.
    private var ready: Response?
    private var patience = Patience.untried
    /// Whether a request has, or may have, an incomplete body.
    var isBodyIncomplete = false

    /// Whether the handler was asked for a ready answer, and whether it may be asked again; see ``ReadyResponse/soon``.
    private enum Patience {
        case untried
        /// The handler was asked once: it returned `soon`. Only libmicrohttpd's second call can suspend the connection.
        case toldSoon
        /// The handler was asked once. Since then, the thread has served its other connections.
        case tried
    }

    /// Called on the thread that will serve the connection.
    init(handle: OpaquePointer, core: DaemonCore) {
        self.core = core
        thread = .ofCaller()
        let remoteAddress = cmhd_client_address(handle).flatMap { IPAddress($0)?.unmapped }
        let tls = core.tls.flatMap { tls in
            TLSSession(of: handle, credentials: tls.credentials) { reason in
                core.configuration.log("client certificate of \(remoteAddress?.description ?? "") refused: \(reason)")
            }
        }
        connection = Connection(
            handle: handle, id: core.registry.newID(), thread: thread, suspensions: core.suspensions,
            deadline: core.requestMilliseconds.map { core.now() + $0 } ?? .max, now: core.configuration.now,
            remoteAddress: remoteAddress, tls: tls)
        thread.noteStart(Unmanaged.passUnretained(self).toOpaque(), descriptor: connection.descriptor)
    }

    deinit {
        target.deallocate()
    }

    /// Copies the target, because libmicrohttpd splits it in place after this call. Then cuts the query off
    /// libmicrohttpd's text, because otherwise each argument would take a record in the connection's memory.
    func receiveTarget(_ text: UnsafeMutablePointer<CChar>?) {
        connection.isBusy.store(true, ordering: .relaxed)
        targetCount = text.map { strlen($0) } ?? 0
        if targetCount > target.count || target.count > 4096 {
            target.deallocate()
            target = .allocate(byteCount: max(128, targetCount), alignment: 1)
        }
        guard let text else { return }
        target.copyMemory(from: UnsafeRawBufferPointer(start: text, count: targetCount))
        expectation = core.handler.expect(UnsafeRawBufferPointer(rebasing: target[..<targetCount]))
        if let question = strchr(text, 0x3f) { question[1] = 0 }
    }

    /// Receives a piece of the body. Returning false closes the connection.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let exchange else { return false }
        connection.countBody(bytes.count)
        if exchange.receiveBody(bytes) { return true }
        connection.isCutOff.store(true, ordering: .relaxed)
        return false
    }

    /// Passes a complete head to the handler, or continues an accepted request. Returning false closes the connection.
    func proceed(_ line: RequestLine) -> Bool {
        if let ready {
            self.ready = nil
            return queueReady(ready)
        }
        if let exchange {
            endReading()
            // A request that was refused unread and suspended comes here when it is resumed; its body stays incomplete.
            isBodyIncomplete = isBodyIncomplete && exchange.isRefusedUnread
            return exchange.proceed()
        }
        if patience == .toldSoon {
            patience = .tried
            if connection.comeAgain() { return true }
        }
        connection.isAwaited.store(false, ordering: .relaxed)
        let recordCount = Int(cmhd_record_count(connection.handle))
        return RawFieldLine.withLines(of: connection.handle, limit: recordCount) {
            begin(line, $0, recordCount: recordCount)
        }
    }

    private func begin(
        _ line: RequestLine, _ fields: UnsafeBufferPointer<RawFieldLine>, recordCount: Int
    ) -> Bool {
        let target = UnsafeRawBufferPointer(rebasing: target[..<targetCount])
        var check = HeadCheck(
            line, target: target, fields: fields, wireLength: cmhd_head_size(connection.handle),
            recordCount: recordCount, limits: core.headLimits)
        let isFirstCall = patience == .untried
        if isFirstCall, core.configuration.isLayoutKnown {
            let body = check.hasTransferEncoding ? RequestBytes.Body.chunks : .length(max(0, check.declaredLength))
            if let defect = requests.endHead(at: line.method, size: check.wireLength, body: body) { check.note(defect) }
        }
        if check.isPlain, let isHead = line.isHead {
            let head = RawHead(
                target: target, expectation: expectation, length: check.wireLength, isHead: isHead, lines: fields)
            switch core.handler.readyResponse(to: head) {
            case .response(let response):
                connection.deadline.store(.max, ordering: .relaxed)
                // The second call queues the answer, because an answer to the first call would close the connection.
                if isFirstCall { ready = response } else { return queueReady(response) }
                return true
            case .soon where isFirstCall:
                patience = .toldSoon
                return true
            case .soon, .none: break
            }
        }
        let request = Request(
            line, target: target, fields: fields, check: check, remoteAddress: connection.remoteAddress)
        // It is unknown where a request with a defect ends.
        isBodyIncomplete = request.hasBody || request.defect != nil
        connection.beginBody(bodyClock(for: request))
        switch core.handler.receive(request) {
        case .refuse(let response):
            // An answer to libmicrohttpd's first call leaves the body unread, and closes the connection.
            endReading()
            if request.defect?.leavesNoRoom == true, let bytes = response.wireForm(toHead: request.isHead) {
                // libmicrohttpd may have no room for the answer's head, so the answer bypasses libmicrohttpd. `false`
                // makes it close the connection, and log "Application reported internal error, closing connection."
                _ = connection.sendPastLibrary(bytes)
                return false
            }
            return core.exchanges.prepare(response, for: request, on: connection).queue(on: connection)
        case .accept(let policy, let action):
            let exchange = Exchange(
                request: request, connection: connection, policy: policy, resources: core.exchanges, action: action)
            self.exchange = exchange
            // This is the first call, or the second after `comeAgain()`. The second must answer, as no call follows it.
            // The first call answers only a request that is refused unread: this answer closes the connection.
            guard exchange.isRefusedUnread || !isFirstCall else { return true }
            endReading()
            return exchange.proceed()
        }
    }

    /// Called when libmicrohttpd is done with a request. Unless `isWhole`, the request failed: the connection closes.
    func endRequest(isWhole: Bool) {
        if !isWhole { connection.noteEnd() }
        let ended = exchange
        exchange = nil
        ready = nil
        patience = .untried
        connection.isBusy.store(false, ordering: .relaxed)
        connection.isAnswering.store(false, ordering: .relaxed)
        connection.isAwaited.store(false, ordering: .relaxed)
        connection.deadline.store(core.idleMilliseconds.map { core.now() + $0 } ?? .max, ordering: .relaxed)
        ended?.end()
    }

    private func endReading() {
        connection.deadline.store(.max, ordering: .relaxed)
        connection.isAwaited.store(false, ordering: .relaxed)
    }

    private func queueReady(_ response: Response) -> Bool {
        thread.noteAnswer()
        return response.prepared(closing: core.exchanges.isDraining.load(ordering: .relaxed)).queue(on: connection)
    }

    private func bodyClock(for request: Request) -> BodyClock? {
        let rate = Int64(core.configuration.minimumBodyRate)
        guard request.hasBody, let grace = core.requestMilliseconds, rate > 0 else { return nil }
        return BodyClock(
            now: core.now(), grace: grace, limit: core.configuration.inactivityTimeout.milliseconds,
            bytesPerSecond: rate)
    }
}
