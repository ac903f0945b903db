import Foundation

/// An HTTP answer as it was received.
struct HTTPAnswer {
    var status: Int
    var fields: [(name: String, value: String)]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The first value of the header field `name`, or `nil` if the answer does not have the field.
    subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// A persistent connection that sends one request after another. It fills caches and checks answers. wrk generates the
/// load.
final class HTTPConnection {
    private let descriptor: Int32
    private let port: UInt16
    private var buffer: [UInt8] = []
    private var start = 0
    private var piece = [UInt8](repeating: 0, count: 256 << 10)

    /// Connects to 127.0.0.1.
    init(port: UInt16) throws {
        self.port = port
        descriptor = try Self.open(port: port)
    }

    deinit {
        close(descriptor)
    }

    /// Opens a connected socket with a receive timeout of 30 seconds.
    static func open(port: UInt16) throws -> Int32 {
        // Programs that are started later do not inherit the descriptor, because wrk cannot handle descriptors above
        // the number that it needs itself.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw BenchmarkError("socket: \(String(cString: strerror(errno)))") }
        var address = loopback(port: port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw BenchmarkError("connect: \(reason)")
        }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    /// Sends `GET target` and reads the whole answer.
    func get(_ target: String) throws -> HTTPAnswer {
        try send("GET", target)
    }

    /// Sends a request and reads the whole answer.
    func send(_ method: String, _ target: String, fields: [String] = [], body: Data = Data()) throws -> HTTPAnswer {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        for field in fields { head += field + "\r\n" }
        if !body.isEmpty || method != "GET" { head += "Content-Length: \(body.count)\r\n" }
        try write(Array((head + "\r\n").utf8) + Array(body))
        return try read()
    }

    private func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BenchmarkError("send: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    private func read() throws -> HTTPAnswer {
        let status = try line().split(separator: " ")
        guard status.count > 1, let code = Int(status[1]) else { throw BenchmarkError("not a status line: \(status)") }
        var answer = HTTPAnswer(status: code, fields: [], body: [])
        while true {
            let text = try line()
            if text.isEmpty { break }
            guard let colon = text.firstIndex(of: ":") else { throw BenchmarkError("not a header field: \(text)") }
            let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            answer.fields.append((String(text[..<colon]), value))
        }
        if answer["Transfer-Encoding"]?.lowercased() == "chunked" {
            while true {
                let text = try line()
                guard let size = Int(text.prefix { $0 != ";" }, radix: 16) else {
                    throw BenchmarkError("not a chunk size: \(text)")
                }
                answer.body += try bytes(size)
                _ = try line()
                if size == 0 { break }
            }
        } else if let length = answer["Content-Length"].flatMap(Int.init) {
            answer.body = try bytes(length)
        } else if code != 204 {
            throw BenchmarkError("an answer without a length")
        }
        return answer
    }

    private func line() throws -> String {
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let text = String(decoding: buffer[start..<end], as: UTF8.self)
                start = end + 1
                return text.hasSuffix("\r") ? String(text.dropLast()) : text
            }
            try receive()
        }
    }

    private func bytes(_ count: Int) throws -> [UInt8] {
        while buffer.count - start < count { try receive() }
        defer { start += count }
        return Array(buffer[start..<start + count])
    }

    private func receive() throws {
        if start > 0 {
            buffer.removeSubrange(..<start)
            start = 0
        }
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else {
            throw BenchmarkError(count == 0 ? "the connection ended" : "recv: \(String(cString: strerror(errno)))")
        }
        buffer += piece[..<count]
    }
}
