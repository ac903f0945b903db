import Foundation

/// Records every path that any process opens, reads, makes, changes, moves or removes in some directories, with
/// inotify(7). Directories below them are not watched.
package final class FileSystemWatch: Sendable {
    private let descriptor: Int32
    private let names: [Int32: String]

    /// Begins to watch the directories.
    ///
    /// - Parameter directories: the paths of the directories.
    ///
    /// Throws ``SystemError`` when a directory cannot be watched.
    package init(_ directories: [String]) throws {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError("inotify_init1") }
        let mask =
            UInt32(IN_OPEN) | UInt32(IN_ACCESS) | UInt32(IN_MODIFY) | UInt32(IN_ATTRIB) | UInt32(IN_CREATE)
            | UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO)
        var names: [Int32: String] = [:]
        for directory in directories {
            let watch = inotify_add_watch(descriptor, directory, mask)
            guard watch >= 0 else {
                let error = SystemError("inotify_add_watch")
                close(descriptor)
                throw error
            }
            names[watch] = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        }
        self.names = names
    }

    deinit {
        close(descriptor)
    }

    /// The paths with events since the last call, each path once, sorted.
    package func takePaths() -> [String] {
        var paths: Set<String> = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return paths.sorted() }
            var offset = 0
            buffer.withUnsafeBytes { bytes in
                while offset + 16 <= count {
                    let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
                    let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                    let name = bytes[(offset + 16)..<(offset + 16 + length)].prefix { $0 != 0 }
                    paths.insert("\(names[watch] ?? "?")/\(String(decoding: name, as: UTF8.self))")
                    offset += 16 + length
                }
            }
        }
    }
}
