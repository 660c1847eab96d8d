import type { Template } from '../template.ts'

/** Template with browser pages that show and change tables. */
export const web: Template = {
  summary: 'pages that show and change tables: a list with a form, and a counter',
  isServed: true,
  hasPages: true,
  program: `// A list with a form, and a counter, in a browser.

@table
type Task {
    title: str
    done: bool
}

// A variant with the name of an HTTP status sets that status: 400.
type Problem =
    | BadRequest(reason: str)

@query
fn tasks() to List[Task] {
    db.Task.all().order_by("_id")
}

@mutation
fn add_task(title: str) to Result[int, Problem] {
    if len(title.trim()) is 0 {
        return Error(BadRequest("a task needs a title"))
    }
    db.Task.insert({ title: title.trim(), done: false })
}

@mutation
fn remove_task(id: int) to Unit {
    db.Task.delete(id)
}

component TaskList(tasks: List[Task]) {
    state draft: str = ""
    derived can_add = len(draft.trim()) > 0

    view:
        <main class="tasks">
            <h1>"Tasks"</h1>
            <ul>
                {for task in tasks {
                    <li key={task._id}>
                        {task.title}
                        <button on:click={remove_task(task._id)}>"Done"</button>
                    </li>
                }}
            </ul>
            <input bind={draft} aria-label="New task" placeholder="New task" />
            <button
                on:click={
                    add_task(draft)
                    draft = ""
                }
                disabled={not can_add}
            >
                "Add"
            </button>
            <p><a href="/counter">"Counter"</a></p>
        </main>
}
style {
    .tasks {
        max-width: "40rem"
        margin: "0 auto"
    }
}

component Counter() {
    state count: int = 0

    view:
        <main>
            <p>"Count: {count}"</p>
            <button on:click={ count += 1 }>"Add one"</button>
            <button on:click={ count = 0 }>"Reset"</button>
        </main>
}

component Missing() {
    view: <p>"Page not found."</p>
}

routes {
    "/" to TaskList with (loader: tasks)
    "/counter" to Counter
    not_found: Missing
}
`
}
