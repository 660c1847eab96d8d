"""Ways to ask for each form. Templates under HELD_OUT are used by the evaluation alone.

Slots: {noun} {nouns} {Type} {a_noun} {fields} {field} {field2} {columns} {n} {path} {name} {text} {greeting} {limit}.
A leading "!" marks an imperative, which may be wrapped in "please …" or "can you …?".
"""

from random import Random

MAKE = ["make", "create", "write", "define", "add", "declare", "give me"]
WRAPPERS = ["please {}", "can you {}?", "could you {}?", "can you {} please", "hey, {}", "{} please", "I want you to {}",
            "now {}", "help me {}", "let's {}"]
HELD_OUT_WRAPPERS = ["would you {}?", "I would like you to {}", "go ahead and {}"]

SEEN = {
    "table": [
        "!{make} a table of {nouns} with {fields}", "!{make} a table for {nouns} with {fields}",
        "!{make} {a_noun} table with {fields}", "!{make} a table called {Type} with {fields}",
        "!{make} a table named {Type} with {fields}", "I need a table of {nouns} with {fields}",
        "I want to store {nouns}. Each has {fields}", "{nouns} table: {fields}", "table {Type}: {fields}",
        "!store {nouns} with {fields}", "every {noun} has {fields}", "!keep track of {nouns}: {fields}",
        "a table of {nouns}, each with {fields}", "{a_noun} has {fields}. {make} the table",
        "my app has {nouns} with {fields}",
    ],
    "index": [
        "!{make} an index on {columns} of {nouns}", "!{make} an index for {nouns} by {columns}",
        "!index {nouns} by {columns}", "!index the {Type} table on {columns}", "index on {Type} ({columns})",
        "I look up {nouns} by {columns}, index that", "!speed up finding {nouns} by {columns}",
        "I need an index of {nouns} by {columns}",
    ],
    "index_named": ["!{make} an index {name} on {columns} of {nouns}", "!{make} an index called {name} for {nouns} by {columns}"],
    "query_all": [
        "!list all {nouns}", "!list {nouns}", "!get all {nouns}", "!show every {noun}", "!show all {nouns}",
        "!{make} a query that lists all {nouns}", "!{make} a query that returns every {noun}", "a query for all {nouns}",
        "query all {nouns}", "I need to read all {nouns}", "!fetch the {nouns}",
    ],
    "query_all_named": [
        "!{make} a query called {name} that lists all {nouns}", "!{make} a query {name} that returns every {noun}",
        "query {name}: all {nouns}",
    ],
    "query_by": [
        "!find {nouns} by {columns}", "!list {nouns} by {columns}", "!{make} a query that finds {nouns} by {columns}",
        "!get the {nouns} with a given {columns}", "!{make} a query for {nouns} by {columns}",
        "I need the {nouns} of a {columns}", "query {nouns} by {columns}", "!filter {nouns} by {columns}",
        "!show {nouns} by {columns}",
    ],
    "query_by_named": ["!{make} a query called {name} that finds {nouns} by {columns}", "query {name}: {nouns} by {columns}"],
    "query_flag": [
        "!list {field} {nouns}", "!list all {field} {nouns}", "!{make} a query for {field} {nouns}",
        "!show the {nouns} that are {field}", "!find {nouns} that are {field}", "which {nouns} are {field}?",
        "query all {nouns} that are {field}",
    ],
    "query_flag_not": [
        "!list {nouns} that are not {field}", "!{make} a query for {nouns} that are not {field}",
        "which {nouns} are not {field}?", "!show the {nouns} that are not {field}", "!find all {nouns} not {field}",
    ],
    "query_get": [
        "!get {a_noun} by id", "!find one {noun} by its id", "!{make} a query that loads {a_noun} by id",
        "!look up {a_noun} by id", "!{make} a query that gets one {noun}", "query one {noun} by id", "!load a single {noun}",
    ],
    "query_count": [
        "!count {nouns}", "!count all {nouns}", "how many {nouns} are there?", "!{make} a query that counts {nouns}",
        "I need the number of {nouns}", "query the number of {nouns}",
    ],
    "query_count_by": [
        "!count {nouns} by {field}", "!{make} a query that counts {nouns} by {field}", "how many {nouns} have a given {field}?",
        "I need the number of {nouns} by {field}",
    ],
    "query_top": [
        "!list the top {n} {nouns} by {field}", "!{make} a query for the {n} {nouns} with the highest {field}",
        "top {n} {nouns} by {field}", "!show the {n} {nouns} with the most {field}", "!get the top {n} {nouns} by {field}",
    ],
    "query_lowest": [
        "!list the lowest {n} {nouns} by {field}", "!{make} a query for the {n} {nouns} with the lowest {field}",
        "lowest {n} {nouns} by {field}", "!show the {n} {nouns} with the least {field}",
    ],
    "query_sorted": [
        "!list {nouns} sorted by {field}", "!list all {nouns} ordered by {field}", "!sort {nouns} by {field}",
        "!{make} a query for {nouns} sorted by {field}", "{nouns} ordered by {field}",
    ],
    "query_over": [
        "!find {nouns} with {field} over a minimum", "!list {nouns} with {a_field} above a limit",
        "!{make} a query for {nouns} whose {field} is over a value", "{nouns} with {field} greater than a given number",
        "!show {nouns} with more than a given {field}",
    ],
    "query_under": [
        "!find {nouns} with {field} under a maximum", "!list {nouns} with {a_field} below a limit",
        "!{make} a query for {nouns} whose {field} is under a value", "{nouns} with {field} less than a given number",
        "!show {nouns} with less than a given {field}",
    ],
    "query_search": [
        "!search {nouns} by {field}", "!{make} a query that searches {nouns} by {field}",
        "!find {nouns} whose {field} contains a text", "!search the {field} of {nouns}", "search for {nouns} by {field}",
    ],
    "mutation_add": [
        "!{make} a mutation that adds {a_noun} with {fields}", "!add {a_noun} with {fields}",
        "a mutation to add {nouns} with {fields}", "!insert {a_noun} with {fields}",
        "!{make} a mutation to create {a_noun} with {fields}", "I want to add {nouns} with {fields}",
        "!save a new {noun} with {fields}", "mutation: add {a_noun} with {fields}",
    ],
    "mutation_delete": [
        "!delete {a_noun}", "!delete {a_noun} by id", "!{make} a mutation that deletes {a_noun}", "!remove {a_noun}",
        "!remove {a_noun} by id", "a mutation to delete {nouns}", "mutation: delete {a_noun}",
        "!{make} a mutation to remove {a_noun}",
    ],
    "server_add": [
        "!{make} a server function that adds {field} and {field2}", "server function: {field} plus {field2}",
        "!add {field} and {field2} on the server",
    ],
    "server_subtract": [
        "!{make} a server function that subtracts {field2} from {field}", "server function: {field} minus {field2}",
        "!subtract {field2} from {field} on the server",
    ],
    "server_multiply": [
        "!{make} a server function that multiplies {field} by {field2}", "server function: {field} times {field2}",
        "!multiply {field} by {field2} on the server",
    ],
    "server_join": [
        "!{make} a server function that joins {field} and {field2}", "!join {field} and {field2} on the server",
        "server function: {field} and {field2} as one text",
    ],
    "server_over": [
        "!{make} a server function that checks whether {field} is over {limit}", "server function: is {field} over {limit}?",
        "!check on the server that {field} is more than {limit}",
    ],
    "server_greet": [
        "!{make} a server function that greets by {field} with {greeting}", "server function: say {greeting} and the {field}",
        "!{make} a server function that takes {a_field} and says {greeting}",
    ],
    "http_list": [
        "!{make} an http route that lists {nouns}", "!{make} a GET route for {nouns}", "an http endpoint for all {nouns}",
        "!serve {nouns} over http", "http get for {nouns}", "!expose the {nouns} as an http route",
    ],
    "http_list_path": [
        "!{make} a GET route {path} that lists {nouns}", "!serve {nouns} at {path}", "GET {path} returns all {nouns}",
        "!{make} an http route at {path} for {nouns}",
    ],
    "http_add": [
        "!{make} a POST route that adds {a_noun} with {fields}", "!{make} an http route to add {nouns} with {fields}",
        "http post for {nouns} with {fields}",
    ],
    "http_add_path": ["!{make} a POST route {path} that adds {a_noun} with {fields}", "POST {path} adds {a_noun} with {fields}"],
    "http_delete": [
        "!{make} a DELETE route for {nouns}", "!{make} an http route that deletes {a_noun}", "http delete for {nouns}",
    ],
    "http_delete_path": ["!{make} a DELETE route {path} that removes {a_noun}", "DELETE {path} removes {a_noun}"],
    "http_text": [
        "!{make} a GET route {path} that says {text}", "GET {path} returns the text {text}",
        "!{make} an http route at {path} that answers {text}",
    ],
}

HELD_OUT = {
    "table": ["!set up a table to hold {nouns} with {fields}", "we sell {nouns}; each one has {fields}"],
    "index": ["!build an index over {nouns} using {columns}"],
    "query_all": ["!return the whole list of {nouns}", "what {nouns} do we have?"],
    "query_by": ["!look for {nouns} that match {columns}"],
    "query_flag": ["!return only the {nouns} which are {field}"],
    "query_get": ["!fetch {a_noun} given the id"],
    "query_count": ["!tell me the total number of {nouns}"],
    "query_top": ["!return {n} {nouns} with the highest {field}"],
    "query_sorted": ["!return {nouns} in order of {field}"],
    "query_search": ["!look for a text in the {field} of {nouns}"],
    "mutation_add": ["!write something that inserts a new {noun} with {fields}"],
    "mutation_delete": ["!write something that deletes {a_noun} by id"],
    "http_list": ["!build an http GET endpoint which returns the {nouns}"],
    "http_text": ["!build a route {path} which answers {text}"],
}

# Joined to a table request; the second part speaks of "them".
FOLLOW_UPS = {
    "query_all": ["a query that lists them", "a query for all of them", "list them"],
    "mutation_add": ["a mutation that adds one", "a mutation to add them"],
    "mutation_delete": ["a mutation that deletes one", "a mutation to delete them"],
    "query_get": ["a query that gets one by id"],
    "query_count": ["a query that counts them", "count them"],
    "index": ["an index on {columns}", "index them by {columns}"],
    "query_by": ["a query that finds them by {columns}", "a query by {columns}"],
    "http_list": ["an http route that lists them", "a GET route for them"],
}


def word_request(random: Random, form: str, slots: dict[str, str], held_out: bool = False) -> str:
    """One wording of a request, with the untidiness of real ones: case, wrappers, final marks."""
    template = random.choice((HELD_OUT if held_out and form in HELD_OUT else SEEN)[form])
    imperative = template.startswith("!")
    text = template.lstrip("!").format_map({"make": random.choice(MAKE), **slots})
    if imperative and random.random() < 0.35:
        text = random.choice(HELD_OUT_WRAPPERS if held_out else WRAPPERS).format(text)
    return finish_sentence(random, text)


def finish_sentence(random: Random, text: str) -> str:
    if random.random() < 0.6:
        text = text[0].upper() + text[1:]
    if text[-1] not in "?.!" and random.random() < 0.45:
        text += "."
    return text
