import Crypto
import Primitives

/// The lower-case hex MD5 of a text, as `printf %s "$TEXT" | md5sum` prints it.
func md5(_ text: String) -> String {
    Array(Insecure.MD5.hash(data: Array(text.utf8))).hex
}
