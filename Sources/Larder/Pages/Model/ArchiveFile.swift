import DiskCache
import Glibc
import Primitives
import Synchronization

/// A WARC or WACZ file that a caller sends. It is on disk without a name, so that the system removes it when the last
/// reference goes, also after a kill. One thread at a time appends.
package final class ArchiveFile: Sendable {
    private let descriptor: Int32
    private let limit: Int64
    private let room: TemporaryRoom
    /// Given back with the file at the latest.
    private let place: ArchivePlaces.Place
    private let size = Locked<Int64>(0)

    /// `directory` is on the file system that takes the file, and `room` is the room there. Throws
    /// ``PageError/archive(_:)``.
    init(
        in directory: String, limit: Int64, room: TemporaryRoom, place: ArchivePlaces.Place
    ) throws(PageError) {
        self.limit = limit
        self.room = room
        self.place = place
        var path = Array((directory + "/import-XXXXXX").utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw .archive("a temporary file could not be made (error \(errno))") }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    /// Lets another archive begin. The file stays.
    func giveBackPlace() { place.giveBack() }

    package var length: Int64 { size.withLock { $0 } }

    /// Throws if a file of `length` bytes exceeds the limit, or has no room.
    func expect(_ length: Int64) throws(PageError) {
        guard length <= limit else { throw .archiveTooLarge(limit: limit) }
        do throws(DiskCacheError) { try room.expect(length) } catch { throw .cache(error) }
    }

    /// Throws ``PageError/archiveTooLarge(limit:)`` beyond the limit, and the error of the cache without room. May wait
    /// for the writer of the cache, which may have to evict entries.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(PageError) {
        var offset = length
        guard offset + Int64(bytes.count) <= limit else { throw .archiveTooLarge(limit: limit) }
        do throws(DiskCacheError) { try room.grow(to: offset + Int64(bytes.count)) } catch { throw .cache(error) }
        var rest = bytes
        while !rest.isEmpty {
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == ENOSPC || errno == EDQUOT { throw .cache(.noSpace) }
            guard count > 0 else { throw .archive("the file could not be stored (error \(errno))") }
            offset += Int64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        size.withLock { $0 = offset }
    }

    /// Returns fewer bytes at the end of the file. Throws ``PageError/archive(_:)``.
    func read(_ offset: Int64, _ count: Int) throws(PageError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let read = pread(
                    descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset) + off_t(filled))
                if read < 0, errno == EINTR { continue }
                if read < 0 { failed = true }
                guard read > 0 else { return }
                filled += read
            }
        }
        if failed { throw .archive("the file could not be read") }
        return bytes
    }
}

/// Counts the archives that are being received, searched or imported.
final class ArchivePlaces: Sendable {
    /// A place; `deinit` gives it back at the latest.
    final class Place: Sendable {
        private let places: ArchivePlaces
        private let isTaken = Atomic(true)

        fileprivate init(_ places: ArchivePlaces) {
            self.places = places
        }

        deinit { giveBack() }

        /// A second call has no effect.
        func giveBack() {
            guard isTaken.exchange(false, ordering: .relaxed) else { return }
            places.taken.subtract(1, ordering: .relaxed)
        }
    }

    let limit = 16
    private let taken = Atomic(0)

    /// `nil` when all places are taken.
    func take() -> Place? {
        guard taken.add(1, ordering: .relaxed).newValue <= limit else {
            taken.subtract(1, ordering: .relaxed)
            return nil
        }
        return Place(self)
    }
}
