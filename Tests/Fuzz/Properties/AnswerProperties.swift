import Foundation
import Primitives
import Synchronization

@testable import Origin

/// Answers of a hostile origin, which arrive over real connections on reused handles and connections. The request
/// after each hostile answer must get its own answer.
///
/// Lines of `--` cut the input into pieces. A piece that begins with `HEAD` and a line feed answers a HEAD request, any
/// other piece a GET request.
enum AnswerProperties {
    private static let run = HostileRun()

    static func check(_ bytes: [UInt8]) throws(Violation) {
        var pieces: [[UInt8]] = [[]]
        for line in bytes.lines {
            if line.elementsEqual("--".utf8) {
                pieces.append([])
            } else {
                pieces[pieces.count - 1] += (pieces[pieces.count - 1].isEmpty ? [] : [0x0a]) + line
            }
        }
        // The limit is four pieces, because more pieces reach no new code and take time.
        for piece in pieces.prefix(4) { try check(piece: piece) }
    }

    private static func check(piece: [UInt8]) throws(Violation) {
        let head = Array("HEAD\n".utf8)
        let isHead = piece.starts(with: head)
        let answer = isHead ? Array(piece.dropFirst(head.count)) : piece
        _ = run.ask("/hostile", isHead: isHead, answer: answer)
        let good = run.ask("/good", isHead: false, answer: answer)
        try demand(
            good == HostileRun.good, "the request behind a hostile answer gets its own answer",
            "\(good.map(\.text) ?? "an error") behind \(answer.text)")
    }
}

/// A client with one thread, and an origin that answers `/hostile` with the bytes of the input.
private final class HostileRun: Sendable {
    static let good = Array("good".utf8)

    private let client: OriginClient
    private let origin: HostileOrigin

    init() {
        origin = HostileOrigin()
        var configuration = OriginConfiguration()
        configuration.threads = 1
        configuration.totalTimeout = .seconds(5)
        configuration.retry = .never
        // The address policy refuses a redirect to any other address.
        configuration.addressPolicy = AddressPolicy(allowing: [try! AddressRule("127.0.0.1:\(origin.port)")])
        client = OriginClient(configuration: configuration)
    }

    /// The body of the answer, or `nil` if the request fails.
    func ask(_ path: String, isHead: Bool, answer: [UInt8]) -> [UInt8]? {
        origin.answer.withLock { $0 = answer }
        var request = OriginRequest(url: "http://127.0.0.1:\(origin.port)\(path)")
        if isHead { request.method = .head }
        request.sizeLimit = 1 << 20
        let receiver = Receiver()
        _ = client.fetch(request, receiver: receiver)
        return receiver.wait()
    }

    private final class Receiver: OriginReceiver {
        private let body = Locked<[UInt8]>([])
        private let isComplete = Locked(false)
        private let end = DispatchSemaphore(value: 0)

        func originDidAnswer(_ head: OriginHead) throws {}

        func originDidSend(_ bytes: UnsafeRawBufferPointer) throws { body.withLock { $0 += bytes } }

        func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
            if case .success = result { isComplete.withLock { $0 = true } }
            end.signal()
        }

        func wait() -> [UInt8]? {
            end.wait()
            return isComplete.withLock { $0 } ? body.withLock { $0 } : nil
        }
    }
}

/// Answers `/good` with `good`, and any other request with ``answer``. After a hostile answer, the origin closes the
/// connection if no request arrives for 5 ms, because the client would otherwise wait for the end of an endless answer
/// until its timeout.
private final class HostileOrigin: Sendable {
    let answer = Locked<[UInt8]>([])
    let port: UInt16

    init() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(listener, pointer, length) == 0, listen(listener, 64) == 0,
                    getsockname(listener, pointer, &length) == 0
                else { fatalError("no port is free on loopback") }
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                if connection >= 0 { Thread.detachNewThread { self.serve(connection) } }
            }
        }
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var isHostile = false
        var input: [UInt8] = []
        while true {
            var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, isHostile ? 5 : 60_000) == 1 else { return }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            input += buffer[..<count]
            guard input.suffix(4).elementsEqual("\r\n\r\n".utf8) else { continue }
            isHostile = !input.starts(with: Array("GET /good ".utf8))
            let good = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood".utf8)
            let output = isHostile ? answer.withLock { $0 } : good
            input = []
            guard send(connection, output, output.count, Int32(MSG_NOSIGNAL)) == output.count else { return }
        }
    }
}
