import Larder
import MicroHTTPD

extension ResponseStream: BodyConsumer {}
