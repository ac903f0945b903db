import Larder
import MicroHTTPD

/// The answer's stream consumes the body from an origin.
extension ResponseStream: BodyConsumer {}
