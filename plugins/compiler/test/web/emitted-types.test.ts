import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { build, filesIn, install, typeCheck } from './building.ts'

function rich(t: Test): { file: string; out: string } {
  const folder = t.testdir({ 'vox.tokens.json': '{"color": {"brand": "#06c"}}' })
  copyFileSync(new URL('rich.vox', import.meta.url), join(folder, 'rich.vox'))
  return { file: join(folder, 'rich.vox'), out: join(folder, 'web') }
}

t.test('an application with all features type-checks in strict mode', async t => {
  const { file, out } = rich(t)
  t.equal((await build(file, out, { scaffold: true })).code, 0)
  install(out)
  writeFileSync(join(out, 'uses.ts'), USES)
  t.equal(await typeCheck(out), '')
})

t.test('a library and the server-rendered layout type-check in strict mode', async t => {
  const { file, out } = rich(t)
  const app = join(out, '..', 'start')
  await build(file, out, { mode: 'library' })
  await build(file, app, { scaffold: true }, { tanstackStart: true })
  for (const folder of [out, app]) install(folder)
  writeFileSync(join(out, 'tsconfig.json'), filesIn(app)['tsconfig.json'] ?? '')
  t.equal(await typeCheck(out), '')
  const found = await typeCheck(app)
  // This repository does not contain the server's package.
  t.same(
    found.split('\n').filter(line => line !== '' && !line.includes("'@tanstack/react-start/plugin/vite'")),
    []
  )
})

const FRAMED = `
component Frame() { view: <main>{route_outlet()}</main> }
component About() { view: <p>"About"</p> }
component Rows() { view: <section>{route_outlet()}</section> }
component Row(id: int) { view: <p>"Row {id}"</p> }
routes {
    "/" to Frame {
        "/about" to About
        "/rows" to Rows { ":id" to Row }
    }
}
`

t.test('pages can be nested, in both layouts', async t => {
  const folder = t.testdir({ 'app.vox': FRAMED })
  const app = join(folder, 'app')
  const start = join(folder, 'start')
  await build(join(folder, 'app.vox'), app, { scaffold: true })
  await build(join(folder, 'app.vox'), start, { scaffold: true }, { tanstackStart: true })
  for (const each of [app, start]) install(each)
  t.equal(await typeCheck(app), '')
  t.match(await typeCheck(start), /^[^\n]*'@tanstack\/react-start\/plugin\/vite'[^\n]*\n$/)
  t.same(
    Object.keys(filesIn(start)).filter(path => path.startsWith('src/routes/')),
    ['__root', '_frame.about', '_frame.index', '_frame.rows.$id', '_frame.rows', '_frame'].map(
      stem => `src/routes/${stem}.tsx`
    )
  )
})

/** Code that uses the emitted types. Each line after a `@ts-expect-error` must be a type error. */
const USES = `import { nextOrder, Order } from './state_machines'
import type { NewNote, Note } from './schema'
import { KindSchema, NoteSchema } from './schemas'
import { Branch, type Kind, Leaf, Linked, Plain, Todo, type Tree } from './types'
import { Urls } from './urls'
import * as client from './vox-client'
import { useAddNote, useNotes } from './vox-tanstack-query'

export const tree: Tree<number> = Branch(1, Leaf, Branch(2, Leaf, Leaf))
export const kinds: readonly Kind[] = [Plain, Todo('today', false), Linked(7, null)]
export const insert: NewNote = { title: 'a', rank: 1, price: '1.50', tags: [], kind: Plain }
export const row: Note = { ...insert, _id: 1, body: null }
export const checked: Note = NoteSchema.parse(row)
export const url: string = Urls.Note(7, 'comments') + Urls.Home()
export const state: Order | null = nextOrder(Order.Paid(3), { _tag: 'ship', carrier: 'by foot' })

export function due(kind: Kind): string {
  switch (kind._tag) {
    case 'Plain':
      return ''
    case 'Todo':
      return kind.due
    case 'Linked':
      return String(kind.to)
  }
}

export async function calls(): Promise<string> {
  const found: readonly Note[] = await client.notes()
  await client.notes(3, null)
  const one: Note | null = await client.note(1)
  const id: number = await client.add_note('title')
  const nothing: void = await client.remove_note(id)
  // @ts-expect-error a number is no title
  await client.add_note(1)
  // @ts-expect-error an alternative has only the fields of its case
  await client.describe({ _tag: 'Leaf', value: 1 }, { first: 'a', second: { x: 1, y: 2 } })
  // @ts-expect-error a column has a type
  found[0]?.title.toFixed()
  // @ts-expect-error there may be no row
  one.title
  return String(nothing) + (await client.delete_('a', 1))
}

export function Hooks() {
  const { data } = useNotes(10, null)
  const { mutate } = useAddNote()
  // @ts-expect-error a title is missing
  mutate({ body: 'b' })
  return data?.map(each => each.title).join()
}

// @ts-expect-error a decimal is a text, so that it stays exact
export const price: number = row.price
export const schema = KindSchema
`
