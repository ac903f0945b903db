import CMicroHTTPD
import Foundation

/// Tests whether the loaded libmicrohttpd lays out heads as ``HeadLayout`` expects, by letting it read some heads. If
/// it does not, bytes that libmicrohttpd hides cannot be detected, and requests are taken as libmicrohttpd shows them.
final class LayoutProbe {
    /// Computed once in a process; it takes about a millisecond.
    static let isLayoutKnown: Bool = {
        let whole = [
            "GET / HTTP/1.1\r\n\r\n",
            "GET /a%20b/c?d=e&f HTTP/1.1\r\nHost: h\r\n\r\n",
            "DELETE /a HTTP/1.0\r\nEmpty:\r\nSpaces:  \t a b \t\r\nCookie: a=b; c\r\nX:y\r\n\r\n",
        ]
        let broken = [
            "GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n", "GET  /a HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\nHost: h\r\n\r\n", "GET /a HTTP/1.1\r\nHost: h\n\r\n", "GET /a HTTP/1.1\r\nHost: h\r\n\n",
            "GET /a HTTP/1.1\r\nHost: h\0i\r\n\r\n", "GET /a HTTP/1.1\r\nHost: h\r\n i\r\n\r\n",
        ]
        return whole.allSatisfy { LayoutProbe().isGapless($0) == true }
            && broken.allSatisfy { LayoutProbe().isGapless($0) == false }
    }()

    private var targetCount = 0
    private var isGapless: Bool?

    /// Lets libmicrohttpd read a head from a socket pair, on this thread. `nil` if libmicrohttpd shows no head.
    private func isGapless(_ head: String) -> Bool? {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0 else {
            return nil
        }
        defer { close(pair[0]) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard let daemon = cmhd_start_probe(probeRequest, probeTarget, context) else {
            close(pair[1])
            return nil
        }
        defer { MHD_stop_daemon(daemon) }
        var address = sockaddr(sa_family: sa_family_t(AF_UNIX), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        // libmicrohttpd closes the socket: now if it refuses the connection, otherwise when the daemon stops.
        guard cmhd_add_connection(daemon, pair[1], &address, socklen_t(MemoryLayout<sockaddr>.size)) else { return nil }
        guard Array(head.utf8).withUnsafeBytes({ send(pair[0], $0.baseAddress, $0.count, 0) }) == head.utf8.count else {
            return nil
        }
        for _ in 0..<8 where isGapless == nil { cmhd_run(daemon) }
        return isGapless
    }

    fileprivate func receiveTarget(_ text: UnsafePointer<CChar>?) {
        targetCount = text.map { strlen($0) } ?? 0
    }

    fileprivate func receive(_ handle: OpaquePointer, _ line: RequestLine) {
        var layout = HeadLayout(
            line: line, methodCount: strlen(line.method), targetCount: targetCount, versionCount: strlen(line.version))
        RawFieldLine.withLines(of: handle, limit: Int(cmhd_record_count(handle))) { fields in
            for field in fields { layout.append(name: field.name, value: field.value) }
        }
        layout.finish(headCount: cmhd_head_size(handle))
        isGapless = layout.isGapless
    }
}

private func probeTarget(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<LayoutProbe>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.receiveTarget(target) }
    return nil
}

/// Called by libmicrohttpd when the head is complete. Closes the connection, because the test needs only the head.
private func probeRequest(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ target: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadCount: UnsafeMutablePointer<Int>?, _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    if let context, let handle, let target, let method, let version {
        Unmanaged<LayoutProbe>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.receive(handle, RequestLine(method: method, target: target, version: version))
        }
    }
    return cmhd_result(false)
}

/// Detects bytes of a request's head that libmicrohttpd hides from its callbacks. libmicrohttpd 0.9.75 reads a head
/// into a buffer, writes zeros over the separators, and passes pointers. So each part of a valid head starts right
/// behind the part before it. A gap indicates a NUL, a bare LF, a folded line, a line without a name, or several
/// spaces. Pointers are only compared. This layout is not documented, so ``LayoutProbe`` tests it.
struct HeadLayout {
    private let start: UnsafeRawPointer
    /// The address at which the next line must start.
    private var next: UnsafeRawPointer
    private(set) var isGapless: Bool

    /// `targetCount` is the length of the target before libmicrohttpd split it.
    init(line: RequestLine, methodCount: Int, targetCount: Int, versionCount: Int) {
        start = UnsafeRawPointer(line.method)
        let target = UnsafeRawPointer(line.target)
        let version = UnsafeRawPointer(line.version)
        isGapless = target == start + methodCount + 1 && version == target + targetCount + 1
        next = version + versionCount + 2
    }

    /// The value includes trailing white space.
    mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard let nameStart = name.baseAddress, let valueStart = value.baseAddress, nameStart == next else {
            isGapless = false
            return
        }
        next = valueStart + value.count + 2
    }

    mutating func finish(headCount: Int) {
        if next + 2 != start + headCount { isGapless = false }
    }
}

struct RequestLine {
    let method: UnsafePointer<CChar>
    /// Ends at its `?`, because libmicrohttpd splits the target.
    let target: UnsafePointer<CChar>
    let version: UnsafePointer<CChar>

    /// `true` for HEAD, `false` for GET, `nil` for other methods.
    var isHead: Bool? {
        if strcmp(method, "GET") == 0 { return false }
        return strcmp(method, "HEAD") == 0 ? true : nil
    }
}
