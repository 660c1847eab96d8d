import t, { type Test } from 'tap'
import { running } from './emitted.ts'

/** Renders a component of a program to HTML. */
async function html(t: Test, source: string, component: string, props: object = {}): Promise<string> {
  const entry = `import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import * as module from './${component}'
export const html = (props: object) => renderToStaticMarkup(createElement(module.${component} as never, props))
`
  const { html } = (await running(t, source, entry)) as { html: (props: object) => string }
  return html(props)
}

t.test('a component renders its view', async t => {
  const source = `
type Kind = | Open(days: int) | Closed
@table type Task { title: str done: bool owner: Option[str] }
fn plural(n: int, word: str) to str { if n is 1 { word } else { word + "s" } }
fn note(label: str) to Element { <em>{label}</em> }
fragment Row(task: Task) { <li class="row done-{task.done}">"{task.title}"</li> }
component Page(tasks: List[Task], kind: Kind = Closed, name: str = "all") {
    state count: int = 2
    derived twice = count * 2
    view: <main id="m" class="page" tab_index="3">
        <h1>"{name}: {count} / {twice}, {missing} & <more>"</h1>
        <ul>{for t, i in tasks key=t._id { <Row task={t} /> }}</ul>
        {if len(tasks) is 0 { <p>"nothing"</p> } else { <p>{len(tasks)} " " {plural(len(tasks), "task")}</p> }}
        {match kind { Open(days) => "open for {days}" Closed => "closed" }}
        {for t in tasks { match t.owner { Some(o) => <b>{o}</b> None => <i>"no one"</i> } }}
        {note("a")}
        {true}
        {[1, 2]}
        <input type="checkbox" disabled={count > 1} for="x" />
        <><span/>" end "</>
    </main>
}`
  const tasks = [
    { _id: 1, title: 'One', done: true, owner: 'Ada' },
    { _id: 2, title: 'Two', done: false, owner: null }
  ]
  const page = await html(t, source, 'Page', { tasks, kind: { _tag: 'Open', days: 3 } })
  t.equal(
    page,
    '<main id="m" class="page" tabindex="3"><h1>all: 2 / 4, {missing} &amp; &lt;more&gt;</h1>' +
      '<ul><li class="row done-true">One</li><li class="row done-false">Two</li></ul><p>2 tasks</p>open for 3' +
      '<b>Ada</b><i>no one</i><em>a</em>true[1, 2]<input type="checkbox" disabled="" for="x"/><span></span> end </main>'
  )
})

t.test('primitives render as HTML elements, and islands as mount points', async t => {
  const source = `
@island Clock { zone: str offsets: List[int] }
component Page() {
    view: column(gap=12, class="wide") {
        heading("Title", level=2)
        text("some text")
        link("Home", "/")
        row() { button(label="Go", on_click={print("x")}) }
        list() { for i in range(2) { list_item() { "item {i}" } } }
        Clock(zone="UTC", offsets=[1, 2])
    }
}`
  t.equal(
    await html(t, source, 'Page'),
    '<div class="column wide" style="display:flex;flex-direction:column;gap:12px"><h2 class="heading">Title</h2>' +
      '<span class="text">some text</span><a class="link" href="/">Home</a>' +
      '<div class="row" style="display:flex;flex-direction:row">' +
      '<button>Go</button></div><ul class="list"><li class="list-item">item 0</li><li class="list-item">item 1</li></ul>' +
      '<div data-island="Clock" data-prop-zone="UTC" data-prop-offsets="[1,2]"></div></div>'
  )
})

t.test('components accept children, defaults and elements', async t => {
  const source = `
component Box(title: Element, children: Element, size: int = 3) { view: <div title={str(size)}>{title}{children}</div> }
component Page() { view: <Box title={<b>"t"</b>}><i>"inner"</i>" text"</Box> }
`
  t.equal(await html(t, source, 'Page'), '<div title="3"><b>t</b><i>inner</i> text</div>')
})

t.test('a function component may use React hooks', async t => {
  const source = `
@component fn Old(start: int) to Element {
    let (n, set_n) = use_state(start)
    <p>{n}</p>
}`
  t.equal(await html(t, source, 'Old', { start: 4 }), '<p>4</p>')
})

t.test('forms render a label for each field, and HTML validation rules', async t => {
  const source = `
@table type User { email: str age: int }
@mutation fn join(email: str, age: int) to Result[int] { db.User.insert({ email: email, age: age }) }
@form Join {
    field email: str required email label("E-mail")
    field age: int min(18)
    on_submit: join
}`
  t.equal(
    await html(t, source, 'Join'),
    '<form class="join"><label>E-mail<input type="email" required="" name="email"/></label>' +
      '<label>Age<input type="number" min="18" name="age"/></label><button type="submit">Submit</button></form>'
  )
})
