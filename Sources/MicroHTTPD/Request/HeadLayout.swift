import Foundation

/// Follows the parts of a request's head through libmicrohttpd's memory, to find bytes that libmicrohttpd hides from
/// its callbacks. libmicrohttpd 0.9.75 reads a head into one buffer, writes zeros over the separators and hands out
/// pointers into the buffer. So each part of a well-formed head starts right behind the part before it. A gap indicates
/// a NUL (at which libmicrohttpd cuts a target or value), a bare LF as the end of a line, a folded line, a line without
/// a name, or several spaces in a row. Pointers are only compared, and never followed. No documentation promises this
/// layout, so ``LayoutProbe`` tests it with the loaded libmicrohttpd.
struct HeadLayout {
    private let start: UnsafeRawPointer
    /// The address at which the next line must start.
    private var next: UnsafeRawPointer
    private(set) var isGapless: Bool

    /// `targetCount` is the target's length before libmicrohttpd cut it up.
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

    /// `headCount` is the length of the whole head.
    mutating func finish(headCount: Int) {
        if next + 2 != start + headCount { isGapless = false }
    }
}

struct RequestLine {
    let method: UnsafePointer<CChar>
    /// Cut at its `?`.
    let target: UnsafePointer<CChar>
    let version: UnsafePointer<CChar>

    /// `true` for HEAD, `false` for GET, `nil` for other methods.
    var isHead: Bool? {
        if strcmp(method, "GET") == 0 { return false }
        return strcmp(method, "HEAD") == 0 ? true : nil
    }
}
