import Foundation

/// What the machine's page cache holds of a server's files when its round begins. Left to itself that depends on how
/// long ago somebody read them, and some machines drop within a minute what nobody reads.
enum PageCache {
    /// All of it, as on a machine that has memory enough and was not started just now.
    case full
    /// Nothing: each answer waits for the disk. What is known of the files, such as where they lie, may still be in
    /// memory.
    case empty

    /// Reads files whole, or has them dropped. A file that went meanwhile is passed over.
    func prepare(_ files: [String]) throws {
        if self == .empty {
            // Only what is on the disk can be dropped.
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

    /// Many: most of them wait for the disk.
    private static let readers = 64

    /// All that is in a directory and below it, by path; a folder there does no harm.
    static func files(in directory: URL) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path).map { "\(directory.path)/\($0)" }
    }
}
