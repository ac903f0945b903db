import HTTPTypes
import Origin
import Primitives
import TestSupport

extension OriginClient {
    /// Starts a transfer with a body and returns its receiver at once.
    func start(_ url: String, _ body: OriginUpload, method: HTTPRequest.Method = .post) -> Collector {
        start(url) {
            $0.method = method
            $0.body = body
        }
    }
}

/// Writes the bytes in pieces of `size`, as fast as there is room, and then finishes the body.
func produce(_ bytes: [UInt8], in size: Int, into body: OriginUpload) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
        let result = body.write(SharedBytes(rest.prefix(size)))
        rest = rest.dropFirst(size)
        guard result == .full else { continue }
        let gate = Gate("room")
        body.onRoom { gate.open() }
        try gate.waitBlocking()
    }
    body.finish()
}

extension SocketStream {
    /// Reads past the head of a request.
    func readHead() throws {
        while let line = try readLine(), !line.isEmpty {}
    }
}
