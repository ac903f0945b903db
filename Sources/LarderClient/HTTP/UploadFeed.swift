import Foundation
import Origin
import Primitives

/// Reads a file, a pipe or a terminal at the speed at which the content is sent. Each feed has its own thread.
enum UploadFeed {
    private static let pieceSize = 64 << 10

    static func start(_ upload: OriginUpload, from descriptor: Int32) {
        Thread.detachNewThread { feed(upload, from: descriptor) }
    }

    private static func feed(_ upload: OriginUpload, from descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: pieceSize)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return upload.fail() }
            guard count > 0 else { return upload.finish() }
            switch upload.write(SharedBytes(buffer[..<count])) {
            case .room: break
            case .closed: return
            case .full:
                let room = DispatchSemaphore(value: 0)
                upload.onRoom { room.signal() }
                room.wait()
            }
        }
    }
}
