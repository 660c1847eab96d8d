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
            <form
                on:submit={
                    add_task(draft)
                    draft = ""
                }
            >
                <input bind={draft} aria-label="New task" placeholder="New task" />
                <button type="submit" disabled={not can_add}>"Add"</button>
            </form>
            {if len(tasks) is 0 {
                <p class="empty">"No tasks yet. Add the first one."</p>
            } else {
                <ul>
                    {for task in tasks {
                        <li key={task._id}>
                            <span>{task.title}</span>
                            <button on:click={remove_task(task._id)}>"Done"</button>
                        </li>
                    }}
                </ul>
            }}
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
            <h1>"Counter"</h1>
            <p>"Count: {count}"</p>
            <button on:click={ count += 1 }>"Add one"</button>
            <button on:click={ count = 0 }>"Reset"</button>
            <p><a href="/">"Tasks"</a></p>
        </main>
}

component Missing() {
    view:
        <main>
            <h1>"Page not found"</h1>
            <p><a href="/">"Tasks"</a></p>
        </main>
}

routes {
    "/" to TaskList with (loader: tasks)
    "/counter" to Counter
    not_found: Missing
}
`
}
