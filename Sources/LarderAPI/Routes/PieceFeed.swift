import Larder
import MicroHTTPD
import Primitives

/// Writes several pieces of available bodies to a stream, block by block, as the client takes them.
///
/// `@unchecked Sendable` is safe because only the feeding thread touches `position`, and only one thread feeds at a
/// time: the next call comes after the previous call found no room.
final class PieceFeed: @unchecked Sendable {
    private static let block = 64 << 10

    private let pieces: [GatewayAnswer.Piece]
    private let stream: ResponseStream
    private var position: (piece: Int, offset: Int64) = (0, 0)

    init(_ pieces: [GatewayAnswer.Piece], to stream: ResponseStream) {
        self.pieces = pieces
        self.stream = stream
    }

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
