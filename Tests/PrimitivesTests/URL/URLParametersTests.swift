import Primitives
import Testing

@Suite("URL parameters")
struct URLParametersTests {
    private func encoded(_ json: String) throws -> String {
        try URLParameters(JSON(parsing: json)).formEncoded
    }

    @Test(
        "Parameters are sorted and form-encoded",
        arguments: [
            ("{}", ""), (#"{"a":"1"}"#, "a=1"), (#"{"b":"1","a":"2"}"#, "a=2&b=1"),
            // The order is by name and then by value, in UTF-8 bytes.
            (#"{"a":["c","b","a"]}"#, "a=a&a=b&a=c"), (#"{"a":"","A":"","é":"","z":""}"#, "A=&a=&z=&%C3%A9="),
            (#"{"aa":"","a":""}"#, "a=&aa="), (#"{"a":["10","9"]}"#, "a=10&a=9"),
            (#"{"x":["～","\ud83d\ude00"]}"#, "x=%EF%BD%9E&x=%F0%9F%98%80"),
            // An array repeats its name. An empty array adds no parameter.
            (#"{"a":[],"b":[1,true]}"#, "b=1&b=true"), (#"{"a":[]}"#, ""),
            // Numbers stay as written. Booleans become true and false.
            (#"{"n":1.50}"#, "n=1.50"), (#"{"n":-0}"#, "n=-0"), (#"{"n":1E+3}"#, "n=1E%2B3"),
            (#"{"n":12345678901234567890}"#, "n=12345678901234567890"), (#"{"t":true,"f":false}"#, "f=false&t=true"),
            // WHATWG URL §5.2: a space becomes +, and * - . _ stay.
            (#"{"a":"b c"}"#, "a=b+c"), (#"{"a b":"+"}"#, "a+b=%2B"), (#"{"a":"*-._~"}"#, "a=*-._%7E"),
            (#"{"a":"&=?/#%"}"#, "a=%26%3D%3F%2F%23%25"), (#"{"a":"\u0000\n"}"#, "a=%00%0A"), (#"{"":""}"#, "="),
            (#"{"a":"é"}"#, "a=%C3%A9"),
        ])
    func encoding(json: String, expected: String) throws {
        #expect(try encoded(json) == expected)
    }

    @Test("Parameter names that are canonically equivalent, but have different bytes, stay two names")
    func canonicalEquivalence() throws {
        #expect(try encoded(#"{"é":"2","e\u0301":"1"}"#) == "e%CC%81=1&%C3%A9=2")
    }

    @Test(
        "The error for a parameter value that is neither a scalar nor a list of scalars points at the value",
        arguments: [
            ("[]", ""), ("1", ""), (#""a=1""#, ""), ("null", ""), (#"{"a":null}"#, "/a"), (#"{"a":{}}"#, "/a"),
            (#"{"a":[1,null]}"#, "/a/1"), (#"{"a":[[1]]}"#, "/a/0"), (#"{"a":[{}]}"#, "/a/0"),
            (#"{"a/b~c":null}"#, "/a~1b~0c"),
            (#"{"b":1,"":[0,{}]}"#, "//1"),
        ])
    func refused(json: String, pointer: String) throws {
        let parsed = try JSON(parsing: json)
        let error = #expect(throws: ParameterError.self) { try URLParameters(parsed) }
        #expect(error?.pointer == pointer)
    }

    @Test("Parameters are appended to the URL's query, and the query keeps its order and gets canonical escapes")
    func appending() throws {
        let params = try URLParameters(JSON(parsing: #"{"b":1,"a":"x y"}"#))
        func url(_ text: String) throws -> String { try CanonicalURL(text, params: params).string }
        #expect(try url("http://h") == "http://h/?a=x+y&b=1")
        #expect(try url("http://h/p?z=1&y=%7e") == "http://h/p?z=1&y=~&a=x+y&b=1")
        #expect(try url("http://h/p?") == "http://h/p?a=x+y&b=1")
        #expect(try url("http://h/p?z&") == "http://h/p?z&a=x+y&b=1")
        #expect(try url("http://h/p#f") == "http://h/p?a=x+y&b=1")
        #expect(try CanonicalURL("http://h/p?z", params: URLParameters()).string == "http://h/p?z")
    }

    @Test("The order of parameters does not change the canonical URL")
    func order() throws {
        let one = try CanonicalURL("http://h/", params: URLParameters(JSON(parsing: #"{"a":[2,1],"b":3}"#)))
        let two = try CanonicalURL("http://h/", params: URLParameters(JSON(parsing: #"{"b":3,"a":[1,2]}"#)))
        #expect(one == two)
    }
}
