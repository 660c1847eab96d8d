import type { Template } from '../template.ts'

/** Template of a chat: rooms with messages, a page, routes, tools for models. */
export const chat: Template = {
  summary: 'rooms with messages: pages, routes, tools for models',
  isServed: true,
  hasPages: true,
  program: `// Rooms with messages: pages for users, HTTP for programs, tools for models.

@table
type Message {
    room: str
    author: str
    text: str
    sent_ms: int
}

@index Message.by_room on (room)

// A variant with the name of an HTTP status sets that status: 400.
type Problem =
    | BadRequest(reason: str)

@query
fn messages(room: str = "lobby") to List[Message] {
    db.Message.filter({ room: room }).order_by("_id").limit(200).live("messages")
}

@mutation
fn post(room: str, author: str, text: str) to Result[int, Problem] {
    if len(text.trim()) is 0 {
        return Error(BadRequest("a message needs text"))
    }
    db.Message.insert({ room: room, author: author, text: text.trim(), sent_ms: std.time.now_ms() })
}

@mcp.tool("say: posts a message to a room")
fn say(room: str, text: str) to Result[int, Problem] {
    post(room, "model", text)
}

@mcp.tool("read_room: returns the last messages of a room, one per line")
fn read_room(room: str, at_most: int = 20) to str {
    let rows = db.Message.filter({ room: room }).order_by("_id", "desc").limit(at_most)
    rows.reverse().map(fn(row) line(row.author, row.text)).join("\\n")
}

fn line(author: str, text: str) to str {
    author + ": " + text
}

component Room(messages: List[Message]) {
    state author: str = "me"
    state draft: str = ""
    derived can_send = len(draft.trim()) > 0

    view:
        <main>
            <h1>"Lobby"</h1>
            {if len(messages) is 0 {
                <p class="empty">"No messages yet. Write the first one."</p>
            } else {
                <ul>
                    {for message in messages {
                        <li key={message._id}>{line(message.author, message.text)}</li>
                    }}
                </ul>
            }}
            <form
                on:submit={
                    post("lobby", author, draft)
                    draft = ""
                }
            >
                <input bind={author} aria-label="Your name" />
                <input bind={draft} aria-label="Message" placeholder="Write a message" />
                <button type="submit" disabled={not can_send}>"Send"</button>
            </form>
        </main>
}

routes {
    "/" to Room with (loader: messages)
}

@test("a line begins with its author")
fn lines() {
    assert(line("Ada", "hello") is "Ada: hello")
}
`
}
