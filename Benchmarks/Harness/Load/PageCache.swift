import Foundation

/// The contents of the page cache for the files of a server when its round begins. Without preparation, the contents
/// depend on the time since the last read, and some machines drop unread pages within a minute.
enum PageCache {
    /// The page cache holds all files, as on a machine that has enough memory and was not started recently.
    case full
    /// The page cache holds no contents, so each answer waits for the disk. The metadata of the files, such as their
    /// place on the disk, may still be in memory.
    case empty

    /// Reads the files into the page cache, or drops them from it. A file that no longer exists is skipped.
    func prepare(_ files: [String]) throws {
        if self == .empty {
            // Only pages that are written to the disk can be dropped.
            sync()
        }
        try inParallel(Self.readers, files) { files in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1 << 12)
            defer { buffer.deallocate() }
            for file in files {
                let descriptor = open(file, O_RDONLY | O_CLOEXEC)
                guard descriptor >= 0 else { continue }
                defer { close(descriptor) }
                switch self {
                case .full: while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
                case .empty: posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
                }
            }
        }
    }

    /// The number of reading threads. It is large because most of the threads wait for the disk.
    private static let readers = 64

    /// The paths of all files below `directory`. The paths of folders are included, which is harmless.
    static func files(in directory: URL) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path).map { "\(directory.path)/\($0)" }
    }
}
