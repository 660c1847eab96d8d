import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Route, RouteTable } from '#root'

const route = (method: string, path: string): Route =>
  ({ method, path, owner: `${Math.random()}`, serve() {} }) as unknown as Route

const PATHS = ['/', '/a', '/a/:x', '/a/b', '/a/:x/c', '/files/*', '/a%20b', '/:x', '/v1/models']
const URLS = [
  '/',
  '/a',
  '/a?q=1',
  '/a/b',
  '/a/b?x',
  '/a/z',
  '/a/z/c?y=2',
  '/files/1/2',
  '/a%20b',
  '/%61',
  '/v1/models',
  '/%'
]
const METHODS = ['GET', 'POST']

/** Returns the path of the matching route, or the error code. */
function found(table: RouteTable, method: string, url: string): unknown {
  try {
    const match = table.find(method, url)
    return match === null ? null : { store: match.store, params: { ...match.params }, query: match.searchParams }
  } catch (error) {
    return (error as { code?: string }).code
  }
}

function answers(table: RouteTable): unknown {
  const allowed = URLS.filter(url => url !== '/%').map(url => table.allowed(url))
  return [allowed, ...['HEAD', ...METHODS].flatMap(method => URLS.map(url => found(table, method, url)))]
}

t.test('a table that reuses an earlier search matches like a new table', t => {
  const keys = fc.uniqueArray(fc.tuple(fc.constantFrom(...METHODS), fc.constantFrom(...PATHS)), {
    selector: ([method, path]) => `${method} ${path}`
  })
  // Most tables have the same paths as the table before, with other routes.
  const tables = fc.array(fc.record({ keys, times: fc.integer({ min: 1, max: 3 }) }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(tables, all => {
      let before: RouteTable | undefined
      const followed: { readonly table: RouteTable; readonly routes: readonly Route[] }[] = []
      for (const { keys, times } of all) {
        for (let count = 0; count < times; count++) {
          const routes = keys.map(([method, path]) => route(method, path))
          before = new RouteTable(routes, before)
          followed.push({ table: before, routes })
        }
      }
      // Earlier tables are still used by requests that started with them.
      for (const { table, routes } of followed) assert.deepEqual(answers(table), answers(new RouteTable(routes)))
    }),
    { numRuns: 100 }
  )
  t.pass()
  t.end()
})

t.test('a route path that the router rejects throws, even after a valid table', t => {
  const sound = new RouteTable([route('GET', '/a')])
  t.throws(() => new RouteTable([route('GET', '/a'), route('GET', '/a/:x(')], sound))
  t.end()
})

t.test('a path in logs and records has no query and at most 1,024 characters', t => {
  const table = new RouteTable([])
  t.equal(table.shownPath('/a/b?q=1'), '/a/b')
  t.equal(table.shownPath(`/a?${'q'.repeat(8_000)}`), '/a')
  t.equal(table.shownPath(`/${'x'.repeat(1_023)}`), `/${'x'.repeat(1_023)}`)
  t.equal(table.shownPath(`/${'x'.repeat(15_000)}?q`), `/${'x'.repeat(1_023)}…`)
  t.end()
})
