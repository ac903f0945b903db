import Foundation
import TestSupport

/// The open descriptors of a server by their purpose, from proc(5).
struct SoakDescriptors: Sendable {
    /// All descriptors.
    var count = 0
    /// The connections of clients.
    var clients = 0
    /// The connections to the origin. libcurl keeps some of them for later.
    var upstream = 0

    /// All other descriptors: files, and the descriptors that the process itself needs.
    var others: Int { count - clients - upstream }

    /// Counts the descriptors that a process has now; none when the process has ended.
    init(of larder: LarderProcess, originPort: UInt16) {
        let directory = "/proc/\(larder.process.pid)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        count = names.count
        var sockets: Set<Substring> = []
        for name in names {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)"),
                target.hasPrefix("socket:[")
            else { continue }
            sockets.insert(target.dropFirst(8).dropLast())
        }
        // `String(contentsOfFile:)` stops after the first page of a file without a size.
        let file = FileHandle(forReadingAtPath: "/proc/\(larder.process.pid)/net/tcp")
        let table = String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
        for line in table.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ")
            let listening = "0A"
            guard words.count > 9, words[3] != listening, sockets.contains(words[9]) else { continue }
            if words[2].hasSuffix(Self.hex(originPort)) {
                upstream += 1
            } else if words[1].hasSuffix(Self.hex(larder.port)) {
                clients += 1
            }
        }
    }

    /// A port in the form of the table, with the colon before it.
    private static func hex(_ port: UInt16) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return ":" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
