import CSystem

/// Parts of a file that take no room on disk and read as zeros.
public enum FileHole {
    /// Gives the blocks of a part of an open file back; its length stays. Nothing happens where the file system cannot.
    public static func make(in descriptor: Int32, _ range: Range<Int64>) {
        csystem_erase(descriptor, Int(range.lowerBound), range.count)
    }
}
