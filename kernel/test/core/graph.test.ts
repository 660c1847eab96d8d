import type { PluginManifest, ServiceId } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { resolveGraph } from '#core'

type Node = Pick<PluginManifest, 'name' | 'requires' | 'optional' | 'refs' | 'after' | 'provides'>

const node = (name: string, parts: Partial<Node> = {}): Node => ({
  name,
  requires: [],
  optional: [],
  refs: [],
  after: [],
  provides: [],
  ...parts
})

t.test('providers come before users', t => {
  const { order } = resolveGraph(
    [
      node('web', { requires: ['db@1'] }),
      node('db', { provides: ['db@1'], requires: ['disk@1'] }),
      node('disk', { provides: ['disk@1'] })
    ],
    new Set()
  )
  t.same(order, ['disk', 'db', 'web'])
  t.end()
})

t.test('a missing service blocks its users and theirs, and says who could help', t => {
  const { order, blocked } = resolveGraph(
    [node('web', { requires: ['db@1'], provides: ['web@1'] }), node('ui', { requires: ['web@1'] }), node('free')],
    new Set(),
    { off: [node('sqlite', { provides: ['db@1'] })], broken: [] }
  )
  t.same(order, ['free'])
  t.match(blocked.get('web'), {
    code: 'KRN_WAITING',
    token: 'db@1',
    reason: /sqlite provides it and is disabled; run: svc plugins enable sqlite/
  })
  t.match(blocked.get('ui'), { reason: /web is not active/ })
  t.end()
})

t.test('a provider that failed is not taken for one that is switched off', t => {
  const web = node('web', { requires: ['db@1'] })
  const [sqlite, remote] = [node('sqlite', { provides: ['db@1'] }), node('remote', { provides: ['db@1'] })]
  const { blocked } = resolveGraph([web], new Set(), { off: [remote], broken: [sqlite] })
  t.match(blocked.get('web')?.reason, /sqlite provides it and does not run; run: svc plugins why sqlite$/)
  t.end()
})

t.test('another major version is named', t => {
  const { blocked } = resolveGraph([node('web', { requires: ['db@2'] }), node('db', { provides: ['db@1'] })], new Set())
  t.match(blocked.get('web')?.reason, /db provides another major version, db@1/)
  t.end()
})

t.test('what the kernel provides needs no plugin', t => {
  const { order, edges } = resolveGraph([node('http', { requires: ['kernel.port@1'] })], new Set(['kernel.port@1']))
  t.same(order, ['http'])
  t.match(edges, [{ to: 'kernel' }])
  t.end()
})

t.test('a cycle is printed as a path with the service on each edge', t => {
  const { order, blocked } = resolveGraph(
    [
      node('a', { requires: ['b@1'], provides: ['a@1'] }),
      node('b', { requires: ['c@1'], provides: ['b@1'] }),
      node('c', { requires: ['a@1'], provides: ['c@1'] }),
      node('user', { requires: ['a@1'] })
    ],
    new Set()
  )
  t.same(order, [])
  t.equal(blocked.get('a')?.code, 'KRN_CYCLE')
  t.match(blocked.get('a')?.reason, /dependency cycle: a -\[b@1\]-> b -\[c@1\]-> c -\[a@1\]-> a/)
  t.equal(blocked.get('user')?.code, 'KRN_WAITING')
  t.end()
})

t.test('a reference breaks a cycle, because it does not order', t => {
  const { order, blocked } = resolveGraph(
    [
      node('a', { requires: ['b@1'], refs: ['b@1'], provides: ['a@1'] }),
      node('b', { requires: ['a@1'], provides: ['b@1'] })
    ],
    new Set()
  )
  t.same(order, ['a', 'b'])
  t.equal(blocked.size, 0)
  t.end()
})

t.test('two providers of one service: the second is blocked and both are named', t => {
  const { order, blocked } = resolveGraph(
    [node('one', { provides: ['s@1'] }), node('two', { provides: ['s@1'] })],
    new Set()
  )
  t.same(order, ['one'])
  t.match(blocked.get('two'), { code: 'KRN_CONFLICT', reason: /two and one both provide s@1/ })
  t.end()
})

t.test('`after` orders plugins that are there and ignores those that are not', t => {
  const { order } = resolveGraph([node('a', { after: ['z', 'absent'] }), node('z')], new Set())
  t.same(order, ['z', 'a'])
  t.end()
})

t.test('for any set of plugins: the order respects every edge, and every plugin is ordered or blocked', t => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const token = (name: string): ServiceId => `${name}@1`
  const arbitraryNode = (name: string) =>
    fc
      .record({
        requires: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
        optional: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 })
      })
      .map(({ requires, optional }) =>
        node(name, { requires: requires.map(token), optional: optional.map(token), provides: [token(name)] })
      )
  const arbitraryNodes = fc.subarray(names, { minLength: 1 }).chain(chosen => fc.tuple(...chosen.map(arbitraryNode)))
  fc.assert(
    fc.property(arbitraryNodes, nodes => {
      const { order, blocked } = resolveGraph(nodes, new Set())
      const position = new Map(order.map((name, index) => [name, index]))
      for (const each of nodes) {
        if (position.has(each.name) === blocked.has(each.name)) return false
        for (const needed of position.has(each.name) ? each.requires : []) {
          const provider = needed.slice(0, -2)
          if (!position.has(provider) || (position.get(provider) as number) >= (position.get(each.name) as number))
            return false
        }
      }
      return true
    })
  )
  t.end()
})
