"""Short facts about the language and the toolchain: several questions and one answer for each."""

FACTS: list[tuple[list[str], str]] = [
    (
        [
            "what is vox",
            "what is a vox file",
            "what is .vox",
            "explain vox",
            "what language is this",
            "what are .vox files",
        ],
        "Vox is the source language of svc. A .vox file is a flat list of declarations such as tables, queries and http routes.",
    ),
    (
        [
            "what is svc",
            "explain svc",
            "what does svc do",
            "what is this",
            "what is this project",
        ],
        "svc is a local-first AI toolchain. It compiles .vox files, serves models and runs agents, and every part of it is a plugin.",
    ),
    (
        [
            "what is a table",
            "explain tables",
            "how do tables work",
            "what does @table do",
            "how do I declare a table",
        ],
        "A table keeps rows. It is declared with @table type, a name and columns, each with a type. A row number _id is always added.",
    ),
    (
        ["what is an index", "explain indexes", "what does @index do", "why do I need an index"],
        "An index makes lookups by its columns fast. It is declared with @index, the table, a name and the columns in parentheses.",
    ),
    (
        ["what is a query", "explain queries", "what does @query do", "can a query write"],
        "A query only reads. It is a function marked @query and is served at GET /api/query/ followed by its name.",
    ),
    (
        ["what is a mutation", "explain mutations", "what does @mutation do", "how do I change data"],
        "A mutation changes the database. It is a function marked @mutation and is served at POST /api/mutation/ followed by its name.",
    ),
    (
        ["what is a server function", "explain server functions", "what does @server do"],
        "A server function runs on the server. It is marked @server and is served at POST /api/ followed by its name.",
    ),
    (
        ["what is an http route", "explain routes", "how do I make an endpoint", "what does http get do"],
        "An http route answers a method and a path of your choice: http get, post, put or delete, then the path, the result type and a body.",
    ),
    (
        [
            "which types are there",
            "what types exist",
            "list the types",
            "explain types",
            "what types can a column have",
        ],
        "The basic types are str, int, float, bool and dec. Option[T] may be empty, List[T] holds many values.",
    ),
    (
        ["what is dec", "what is a decimal", "how do I store money", "which type is for prices"],
        "dec is an exact decimal number. Use it for money, since float would round.",
    ),
    (["what is str", "which type is for text", "how do I store text"], "str is text in UTF-8."),
    (["what is int", "which type is for whole numbers"], "int is a whole number of 64 bits."),
    (["what is float", "which type is for measurements"], "float is a floating point number, good for measurements."),
    (["what is bool", "which type is for flags"], "bool is true or false."),
    (
        ["what is Option", "how do I make a column optional", "can a column be empty", "what are optional columns"],
        "A column of type Option[T] may be empty. All other columns must have a value.",
    ),
    (
        ["what is _id", "do I need an id column", "where is the primary key", "how are rows numbered"],
        "Every table gets an integer primary key named _id by itself, so do not declare an id column.",
    ),
    (
        ["what is db", "how do I reach the database", "how do I use db"],
        "db gives one handle for each table, for example db.Book.all() or db.Book.get(id).",
    ),
    (
        ["how do I filter", "what does filter do", "how do I find rows"],
        "Use filter with columns and values. All of them must match, as in db.Book.filter({ author: author }).",
    ),
    (
        ["what does where do", "how do I compare", "which operators are there"],
        "where takes operators: eq, neq, lt, lte, gt, gte, in, contains, is_null, and, or, not.",
    ),
    (
        ["how do I sort", "what does order_by do", "how do I limit results", "what does limit do"],
        "Add order_by with a column and asc or desc, then limit with a number.",
    ),
    (
        ["how do I insert a row", "what does insert do", "how do I add a row"],
        "Call insert with a record inside a mutation. It returns the new row number.",
    ),
    (["how do I delete a row", "what does delete do"], "Call delete with the row number inside a mutation."),
    (
        ["how do I count rows", "what does count do"],
        "Call count on a table or after filter. It returns a whole number.",
    ),
    (
        ["how do I run you", "how do I start the server", "how do I serve a model", "how do I start svc"],
        "Run svc model serve --model models/vox-tiny, then send a chat request to port 11435.",
    ),
    (
        ["what is an adapter", "what is LoRA", "what does the adapter do"],
        "An adapter is a small set of weights added to a base model. Mine makes me answer with declarations instead of prose.",
    ),
    (
        ["what is a plugin", "how do I write a plugin", "what are plugins"],
        "Every part of svc is a plugin. Run svc plugins new NAME to make one of your own.",
    ),
    (
        ["what is the difference between a query and a mutation", "query or mutation", "when do I use a mutation"],
        "A query only reads, a mutation may write. Use a mutation to add or delete rows.",
    ),
    (
        [
            "what is the difference between an index and a query",
            "what is the difference between a server function and an http route",
        ],
        "They are different declarations. Ask about one of them, for example: what is an index?",
    ),
    (
        ["how do I name things", "what names are allowed", "which names can I use"],
        "Types begin with a capital letter, such as Book. Columns and functions are lower case with underscores, such as due_date.",
    ),
    (
        ["how do I write a comment", "are there comments"],
        "A comment begins with two slashes and runs to the end of the line.",
    ),
]
