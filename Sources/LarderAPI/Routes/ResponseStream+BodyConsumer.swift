import Larder
import MicroHTTPD

/// A client's connection takes what comes from an origin.
extension ResponseStream: BodyConsumer {}
