"""Strict recogniser of the `.vox` forms that the model should write; used by the evaluation."""

import re

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"[^"\n]*")|(?P<word>@?[A-Za-z_][A-Za-z0-9_]*)|(?P<number>\d+)|(?P<mark>[{}()\[\],.:+\-*>]))'
)
_BASE_TYPES = {"str", "int", "float", "bool", "dec", "Unit"}


class VoxSyntaxError(Exception):
    """Syntax error with the position of the first invalid token."""


def tokens_of(text: str) -> list[str]:
    tokens, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise VoxSyntaxError(f"unexpected character at {position}: {text[position : position + 10]!r}")
        tokens.append(match[match.lastgroup])
        position = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at, self.known = tokens, 0, set()

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if not token or (expected and token not in expected):
            raise VoxSyntaxError(f"token {self.at}: expected {expected or 'a token'}, found {token or 'the end'!r}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def name(self, pattern: str = r"[a-z_]\w*") -> str:
        if not re.fullmatch(pattern, self.peek()):
            raise VoxSyntaxError(f"token {self.at}: expected a name, found {self.peek()!r}")
        return self.take()

    def type_name(self) -> str:
        return self.name(r"[A-Z]\w*")

    def string(self) -> str:
        return self.name(r'".*"')

    def module(self) -> None:
        while self.peek():
            {
                "@table": self.table,
                "@index": self.index,
                "@query": self.function,
                "@mutation": self.function,
                "@server": self.function,
                "http": self.route,
            }.get(self.peek(), self.unknown)()

    def unknown(self) -> None:
        raise VoxSyntaxError(f"token {self.at}: {self.peek()!r} starts no declaration")

    def table(self) -> None:
        self.take("@table"), self.take("type"), self.type_name(), self.take("{")
        columns: list[str] = []
        while not self.accept("}"):
            columns.append(self.name())
            self.take(":"), self.type()
        if not columns or len(set(columns)) < len(columns):
            raise VoxSyntaxError("a table needs distinct columns")

    def index(self) -> None:
        self.take("@index"), self.type_name(), self.take("."), self.name(), self.take("on"), self.take("("), self.name()
        while self.accept(","):
            self.name()
        self.take(")")

    def type(self) -> None:
        if self.peek() in ("List", "Option"):
            self.take(), self.take("["), self.type(), self.take("]")
        elif self.peek() in _BASE_TYPES:
            self.take()
        else:
            self.type_name()

    def function(self) -> None:
        self.take("@query", "@mutation", "@server"), self.take("fn"), self.name()
        self.signature_and_body()

    def route(self) -> None:
        self.take("http"), self.take("get", "post", "put", "delete"), self.string()
        self.signature_and_body(parameters_required=False)

    def signature_and_body(self, parameters_required: bool = True) -> None:
        self.known = {"db"}
        if parameters_required or self.peek() == "(":
            self.take("(")
            while not self.accept(")"):
                self.known.add(self.name())
                self.take(":"), self.type()
                if self.peek() != ")":
                    self.take(",")
        self.take("to"), self.type(), self.take("{")
        self.accept("return")
        self.expression()
        self.take("}")

    def expression(self) -> None:
        self.operand()
        while self.peek() in ("+", "-", "*", ">"):
            self.take()
            self.operand()

    def operand(self) -> None:
        token = self.take()
        if token == "{":
            self.record()
        elif token == "db":
            self.chain()
        elif not (token[0] == '"' or token.isdigit() or token in ("true", "false") or token in self.known):
            raise VoxSyntaxError(f"token {self.at - 1}: {token!r} is not a value here")

    def record(self) -> None:
        while not self.accept("}"):
            self.name(), self.take(":"), self.expression()
            if self.peek() != "}":
                self.take(",")

    def chain(self) -> None:
        self.take("."), self.type_name(), self.take(".")
        while True:
            self.take("all", "get", "count", "filter", "where", "insert", "delete", "order_by", "limit"), self.take("(")
            while not self.accept(")"):
                self.expression()
                if self.peek() != ")":
                    self.take(",")
            if not self.accept("."):
                return


def check(text: str) -> None:
    """Raises VoxSyntaxError if the text is not one or more declarations of the known forms."""
    tokens = tokens_of(text)
    if not tokens:
        raise VoxSyntaxError("nothing was declared")
    _Parser(tokens).module()


def is_valid(text: str) -> bool:
    try:
        check(text)
    except VoxSyntaxError:
        return False
    return True
