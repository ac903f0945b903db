import CSystem

/// Ranges of a file that use no space on disk and read as zeros.
package enum FileHole {
    /// Frees the disk blocks of a range of an open file; the length of the file does not change. The call has no effect
    /// on a file system without support for it.
    package static func make(in descriptor: Int32, _ range: Range<Int64>) {
        csystem_erase(descriptor, Int(range.lowerBound), range.count)
    }
}
