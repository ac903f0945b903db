import Crypto
import Primitives

/// The lower-case hex MD5 of a text: what `printf %s "$TEXT" | md5sum` prints.
func md5(_ text: String) -> String {
    Array(Insecure.MD5.hash(data: Array(text.utf8))).hex
}
