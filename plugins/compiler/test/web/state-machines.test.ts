import { readFileSync } from 'node:fs'
import t from 'tap'
import { build, filesIn } from './building.ts'
import { emitted, running } from './components/emitted.ts'

const MACHINES = readFileSync(new URL('components/machines.vox', import.meta.url), 'utf8')

interface State {
  readonly _tag: string
  readonly [field: string]: unknown
}

interface Machines {
  nextDoor(state: State, event: State): State | null
  nextCart(state: State, event: State): State | null
  readonly Door: { readonly Closed: State; Open(count: number, note: string | null): State }
  readonly Cart: { readonly Empty: State }
}

t.test('a transition computes the fields of its state with any expression of the language', async t => {
  const run = await running(t, MACHINES, "export * from './state_machines'\n")
  const { nextDoor, nextCart, Door, Cart } = run as unknown as Machines
  const open = nextDoor(Door.Closed, { _tag: 'open' })
  t.same(open, { _tag: 'Open', count: 1, note: null })
  t.same(nextDoor(open as State, { _tag: 'knock', more: 3 }), { _tag: 'Open', count: 7, note: null })

  const item = { name: 'a', price: '0.1', tags: [] }
  const full = nextCart(Cart.Empty, { _tag: 'add', item, by: 4 })
  const expected = {
    _tag: 'Full',
    items: [item],
    total: '0.1',
    level: { _tag: 'High', n: 9 },
    label: '4!',
    delete: true
  }
  t.same(full, { ...expected, door: Door.Open(4, 'x') }, 'functions, states of other machines and operators')

  const more = nextCart(full as State, { _tag: 'more', item: { ...item, name: 'b', price: '0.2' }, state: 2 })
  t.same(more?.items, [item], 'a lambda whose parameter has the name of the event')
  t.same(more?.total, '0.3', 'decimals have exact sums')
  t.same(more?.level, { _tag: 'Low' }, 'a match with a condition')
  t.same([more?.label, more?.delete], ['4!0.1', false])

  const plain = nextCart(full as State, { _tag: 'plain', names: ['x'] })
  t.same(plain?.items, [{ name: 'x', price: '1.5', tags: ['new'] }], 'a struct takes its defaults')
  const same = nextCart(full as State, { _tag: 'same', item: { ...item, name: 'own' } })
  t.same(same?.items, [{ ...item, name: 'own' }], 'a field of the event hides one of the state, as the checker has it')
})

t.test('a build for clients has the functions and helpers that its machines call', async t => {
  const folder = t.testdir({ 'app.vox': MACHINES })
  const { code } = await build(`${folder}/app.vox`, `${folder}/dist`, { target: 'client' })
  t.equal(code, 0)
  const files = Object.keys(filesIn(`${folder}/dist`))
  for (const name of ['state_machines.ts', 'vox-functions.tsx', 'vox-runtime.ts']) t.ok(files.includes(name), name)
})

t.test('a transition that needs the server is refused, and so is one without a value', t => {
  const start = '@query fn size() to int { 1 }\nstate_machine M {\n state A\n state B(n: int, m: int)\n'
  t.same(emitted(`${start} on go from A -> B(size(), 1)\n}\n`).codes, ['web.not_in_browser'])
  t.same(emitted(`${start} on go(m: int) from A -> B\n}\n`).codes, ['web.machine.missing_value'])
  t.same(emitted(`${start} on go from any(x) -> B(x, x)\n}\n`).codes, ['web.machine.missing_value'])
  t.end()
})
