import DiskCache
import Larder
import MicroHTTPD
import Primitives

/// Gives a stream several pieces of bodies that are there, block by block, as the client takes them.
///
/// `position` is only touched by whoever feeds, which is one thread at a time: the next one is called when the one
/// before it found no room. That makes it safe to be `@unchecked Sendable`.
final class PieceFeed: @unchecked Sendable {
    private static let block = 64 << 10

    private let pieces: [GatewayAnswer.Piece]
    private let stream: ResponseStream
    private var position: (piece: Int, offset: Int64) = (0, 0)

    init(_ pieces: [GatewayAnswer.Piece], to stream: ResponseStream) {
        self.pieces = pieces
        self.stream = stream
    }

    /// Writes until there is no room, or nothing left.
    func goOn() {
        while position.piece < pieces.count {
            let piece = pieces[position.piece]
            guard position.offset < piece.length else {
                position = (position.piece + 1, 0)
                continue
            }
            guard let bytes = try? piece.bytes(at: position.offset, upTo: min(Self.block, stream.room)) else {
                return stream.fail()
            }
            position.offset += Int64(bytes.count)
            switch stream.write(bytes) {
            case .room: continue
            case .full: return stream.onRoom { [self] in goOn() }
            case .closed: return
            }
        }
        stream.finish()
    }
}

extension GatewayAnswer.Piece {
    fileprivate func bytes(at offset: Int64, upTo count: Int) throws -> SharedBytes {
        switch self {
        case .bytes(let bytes): return bytes
        case .stored(let body, let range):
            let start = range.lowerBound + offset
            return try body.read(start..<min(range.upperBound, start + Int64(count)))
        }
    }
}
