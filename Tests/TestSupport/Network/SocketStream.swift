import Foundation
import Primitives

/// A connected socket with a read buffer, for one thread that blocks on it.
///
/// Invariant: the descriptor is closed once, under the lock. Other threads use it only under the lock (`interrupt`).
/// The owner's thread uses it without the lock, because only the owner closes it. The buffer belongs to the owner's
/// thread.
///
/// `@unchecked Sendable` is safe because of the invariant: `interrupt` is the only call for other threads.
package final class SocketStream: @unchecked Sendable {
    /// The error when the other side closes the connection before a read is complete.
    package struct EndOfStream: Error, CustomStringConvertible {
        /// The description of the incomplete read.
        package let description: String
    }

    private let descriptor: Int32
    private let isClosed = Locked(false)
    private var buffer: [UInt8] = []
    private var position = 0

    /// Takes over a connected descriptor. Reads and writes fail after `limit` without progress.
    package init(descriptor: Int32, limit: Duration = Gate.defaultLimit) {
        self.descriptor = descriptor
        var time = timeval(tv_sec: Int(limit.milliseconds / 1000), tv_usec: Int(limit.milliseconds % 1000) * 1000)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Connects to a port of this machine. Throws ``SystemError`` when no process listens there.
    package convenience init(port: UInt16, address: String = "127.0.0.1", limit: Duration = Gate.defaultLimit) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        var target = sockaddr_in(port: port, address: address)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else {
            let error = SystemError("connect")
            Foundation.close(descriptor)
            throw error
        }
        self.init(descriptor: descriptor, limit: limit)
    }

    deinit {
        close()
    }

    // MARK: Writing

    /// Sends all bytes. Throws ``SystemError`` when the other side is gone or takes no byte within the time limit.
    package func send(_ bytes: some Sequence<UInt8>) throws {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SystemError("send") }
            sent += count
        }
    }

    /// Sends a text as UTF-8; line ends are sent unchanged.
    package func send(_ text: String) throws {
        try send(text.utf8)
    }

    // MARK: Reading

    /// Reads up to and including `\n`, and returns the line without it and without a `\r` before it; `nil` when the
    /// connection ended before the first byte. Throws ``EndOfStream`` within a line, ``SystemError`` on a time-out.
    package func readLine() throws -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            if let end = buffer[position...].firstIndex(of: 0x0a) {
                line += buffer[position..<end]
                position = end + 1
                if line.last == 0x0d { line.removeLast() }
                return line
            }
            line += buffer[position...]
            position = buffer.count
            guard try fill() else {
                if line.isEmpty { return nil }
                throw EndOfStream(
                    description: "the connection ended in a line: \(String(decoding: line, as: UTF8.self))")
            }
        }
    }

    /// Reads exactly `count` bytes. Throws ``EndOfStream`` when fewer bytes arrive.
    package func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            guard let some = try readSome(count - bytes.count) else {
                throw EndOfStream(description: "the connection ended after \(bytes.count) of \(count) bytes")
            }
            bytes += some
        }
        return bytes
    }

    /// Reads the available bytes, at most `limit`, and waits for the first byte; `nil` at the end of the stream.
    package func readSome(_ limit: Int = .max) throws -> [UInt8]? {
        if position == buffer.count {
            guard try fill() else { return nil }
        }
        let count = min(limit, buffer.count - position)
        defer { position += count }
        return Array(buffer[position..<position + count])
    }

    /// Reads until the other side closes the connection.
    package func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let some = try readSome() { bytes += some }
        return bytes
    }

    private func fill() throws -> Bool {
        buffer = [UInt8](repeating: 0, count: 65_536)
        position = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress!, $0.count, 0) }
            if count < 0 && errno == EINTR { continue }
            let error = SystemError("recv")
            buffer.removeSubrange(max(count, 0)...)
            guard count >= 0 else { throw error }
            return count > 0
        }
    }

    // MARK: Ending

    /// Closes the sending side; reading is still possible.
    package func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the connection; bytes that were sent still arrive.
    package func close() {
        close(bySaying: true)
    }

    /// Closes the connection with a reset (RST), as a crashing peer does.
    package func reset() {
        var linger = Foundation.linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Foundation.linger>.size))
        close(bySaying: false)
    }

    /// If `bySaying` is true, shuts the sending side down first. So the peer sees the end at once, even if a child
    /// process that starts at this moment holds a copy of the descriptor.
    private func close(bySaying: Bool) {
        isClosed.withLock { isClosed in
            if isClosed { return }
            isClosed = true
            if bySaying { shutdown(descriptor, Int32(SHUT_WR)) }
            Foundation.close(descriptor)
        }
    }

    /// Interrupts the connection, from any thread: a read or write sees the end of the stream or an error.
    package func interrupt() {
        isClosed.withLock { isClosed in
            if !isClosed { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }
}

extension sockaddr_in {
    /// A port of an IPv4 address in dotted form.
    init(port: UInt16, address: String) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = port.bigEndian
        inet_pton(AF_INET, address, &sin_addr)
    }
}
