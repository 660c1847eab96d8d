/** Program that the playground shows at first. */
export const EXAMPLE = `@table
type Note { title: str, done: bool = false }

@mutation
fn add(title: str) to Result[int] {
    if title == "" { return Error("a title is needed") }
    Ok(db.Note.insert({ title: title }))
}

@query
fn open_notes() to List[Note] { db.Note.where({ done: false }).all() }

add("buy bread")
add("call home")
print("open notes: " + str(open_notes().len()))
`
