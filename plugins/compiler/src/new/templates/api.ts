import type { Template } from '../template.ts'

/** Template with tables, and functions that are served over HTTP. */
export const api: Template = {
  summary: 'tables, and functions that are served over HTTP',
  isServed: true,
  program: `// Tasks over HTTP: \`svc run app.vox\` serves them on http://127.0.0.1:3000.

@table
type Task {
    title: str
    done: bool
}

@index Task.by_done on (done)

// Errors of the functions below. A variant with the name of an HTTP status sets that status: 400, 404.
type Problem =
    | BadRequest(reason: str)
    | NotFound(id: int)

// GET /api/query/open_tasks
@query
fn open_tasks() to List[Task] {
    db.Task.filter({ done: false }).order_by("_id")
}

// POST /api/mutation/add_task with {"title": "…"}
@mutation
fn add_task(title: str) to Result[int, Problem] {
    if not is_title(title) {
        return Error(BadRequest("a task needs a title"))
    }
    db.Task.insert({ title: title.trim(), done: false })
}

// POST /api/mutation/finish_task with {"id": 1}
@mutation
fn finish_task(id: int) to Result[Unit, Problem] {
    match db.Task.get(id) {
        Some(_) => {
            db.Task.update(id, { done: true })
            Ok(Unit)
        }
        None => Error(NotFound(id))
    }
}

// A route with a declared path.
http get "/tasks/:id"(id: int) to Result[Task, Problem] {
    match db.Task.get(id) {
        Some(task) => Ok(task)
        None => Error(NotFound(id))
    }
}

fn is_title(title: str) to bool {
    len(title.trim()) > 0
}

@test("a blank title is invalid")
fn blanks() {
    assert(not is_title("  "))
    assert(is_title("Water the plants"))
}
`
}
