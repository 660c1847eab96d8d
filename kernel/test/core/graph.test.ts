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

t.test('a missing service blocks its users recursively, with a reason that names possible providers', t => {
  const { order, blocked } = resolveGraph(
    [node('web', { requires: ['db@1'], provides: ['web@1'] }), node('ui', { requires: ['web@1'] }), node('free')],
    new Set(),
    { off: [node('sqlite', { provides: ['db@1'] })], broken: [] }
  )
  t.same(order, ['free'])
  t.match(blocked.get('web'), {
    code: 'KRN_WAITING',
    token: 'db@1',
    reason: /sqlite provides it but is disabled; run: svc plugins enable sqlite/
  })
  t.match(blocked.get('ui'), { reason: /web is not active/ })
  t.end()
})

t.test('the reason for a failed provider differs from that for a disabled one', t => {
  const web = node('web', { requires: ['db@1'] })
  const [sqlite, remote] = [node('sqlite', { provides: ['db@1'] }), node('remote', { provides: ['db@1'] })]
  const { blocked } = resolveGraph([web], new Set(), { off: [remote], broken: [sqlite] })
  t.match(blocked.get('web')?.reason, /sqlite provides it but is not active; run: svc plugins why sqlite$/)
  t.end()
})

t.test('the reason names another major version of the service', t => {
  const { blocked } = resolveGraph([node('web', { requires: ['db@2'] }), node('db', { provides: ['db@1'] })], new Set())
  t.match(blocked.get('web')?.reason, /db provides only another major version, db@1/)
  t.end()
})

t.test('services of the kernel need no plugin', t => {
  const { order, edges } = resolveGraph([node('http', { requires: ['kernel.port@1'] })], new Set(['kernel.port@1']))
  t.same(order, ['http'])
  t.match(edges, [{ to: 'kernel' }])
  t.end()
})

t.test('the reason for a cycle shows its path with the services', t => {
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

t.test('a reference breaks a cycle', t => {
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

t.test('of two providers of a service, the second is blocked with a reason that names both', t => {
  const { order, blocked } = resolveGraph(
    [node('one', { provides: ['s@1'] }), node('two', { provides: ['s@1'] })],
    new Set()
  )
  t.same(order, ['one'])
  t.match(blocked.get('two'), { code: 'KRN_CONFLICT', reason: /two and one both provide s@1/ })
  t.end()
})

t.test('`after` orders existing plugins and ignores absent ones', t => {
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

t.test('a service of the kernel cannot be provided by a plugin', t => {
  const { order, blocked } = resolveGraph(
    [node('thief', { provides: ['kernel.port@1'] }), node('user', { requires: ['kernel.port@1'] })],
    new Set(['kernel.port@1'])
  )
  t.same(order, ['user'])
  t.same(blocked.get('thief'), {
    code: 'KRN_CONFLICT',
    reason: 'thief and the kernel both provide kernel.port@1; disable one of them',
    token: 'kernel.port@1'
  })
  t.end()
})

t.test('users of a plugin that is blocked by a conflict wait, recursively', t => {
  const { order, blocked } = resolveGraph(
    [
      node('one', { provides: ['s@1'] }),
      node('two', { provides: ['s@1', 'extra@1'] }),
      node('user', { requires: ['extra@1'], provides: ['more@1'] }),
      node('far', { requires: ['more@1'] })
    ],
    new Set()
  )
  t.same(order, ['one'])
  t.same(
    [...blocked].map(([name, { code, reason }]) => [name, code, reason]),
    [
      ['two', 'KRN_CONFLICT', 'two and one both provide s@1; disable one of them'],
      ['user', 'KRN_WAITING', 'needs extra@1: two is not active'],
      ['far', 'KRN_WAITING', 'needs more@1: user is not active']
    ]
  )
  t.end()
})

t.test('the reason for a missing service prefers one that the user can fix', t => {
  const web = node('web', { requires: ['db@2'] })
  const provider = (name: string, token: ServiceId) => node(name, { provides: [token] })
  const reason = (parts: { also?: Node[]; off?: Node[]; broken?: Node[]; unread?: string[] }): string | undefined =>
    resolveGraph([web, ...(parts.also ?? [])], new Set(), {
      off: parts.off ?? [],
      broken: parts.broken ?? [],
      unread: parts.unread ?? []
    }).blocked.get('web')?.reason
  t.equal(reason({}), 'needs db@2: no known plugin provides it')
  t.equal(
    reason({ off: [provider('a', 'db@2'), provider('b', 'db@2')] }),
    'needs db@2: a or b provides it but is disabled; run: svc plugins enable a'
  )
  const other = 'needs db@2: old provides only another major version, db@1'
  t.equal(reason({ also: [provider('old', 'db@1')] }), other)
  t.equal(reason({ off: [provider('old', 'db@1')] }), other)
  t.equal(reason({ broken: [provider('old', 'db@1')] }), other)
  t.equal(
    reason({ also: [provider('dbx', 'dbx@1')] }),
    'needs db@2: no known plugin provides it',
    'a service with another name is not suggested'
  )
  t.match(reason({ also: [provider('old', 'db@1')], off: [provider('a', 'db@2')] }), /a provides it but is disabled/)
  t.equal(
    reason({ unread: ['a', 'b', 'c', 'd'] }),
    'needs db@2: no known plugin provides it; services of these disabled plugins are unknown: a, b, c and 1 more'
  )
  t.end()
})

t.test('edges have the provider (kernel, plugin or null) and the kind of dependency', t => {
  const { edges } = resolveGraph(
    [
      node('user', {
        requires: ['kernel.port@1', 'db@1'],
        optional: ['cache@1', 'mail@1'],
        refs: ['db@1', 'mail@1'],
        after: ['db', 'absent']
      }),
      node('db', { provides: ['db@1'] }),
      node('mail', { provides: ['mail@1'] })
    ],
    new Set(['kernel.port@1'])
  )
  const edge = (token: string, to: string | null, kind: string) => ({ from: 'user', token, to, kind })
  t.same(edges, [
    edge('kernel.port@1', 'kernel', 'requires'),
    edge('db@1', 'db', 'requires'),
    edge('cache@1', null, 'optional'),
    edge('mail@1', 'mail', 'optional'),
    edge('db@1', 'db', 'ref'),
    edge('mail@1', 'mail', 'ref'),
    edge('db', 'db', 'after')
  ])
  t.end()
})

t.test('an optional service orders plugins if possible and never blocks', t => {
  const first = resolveGraph([node('a', { optional: ['z@1', 'gone@1'] }), node('z', { provides: ['z@1'] })], new Set())
  t.same(first.order, ['z', 'a'])
  const circle = resolveGraph(
    [
      node('a', { optional: ['b@1'], provides: ['a@1'] }),
      node('b', { requires: ['a@1'], provides: ['b@1'] }),
      node('c', { after: ['d'] }),
      node('d', { after: ['c'] })
    ],
    new Set()
  )
  t.equal(circle.blocked.size, 0)
  t.ok(circle.order.indexOf('a') < circle.order.indexOf('b'), 'the required service determines the order')
  t.same([...circle.order].sort(), ['a', 'b', 'c', 'd'])
  t.end()
})

t.test('a long cycle of optional services loses only one edge', t => {
  const names = ['a', 'b', 'c', 'd'] as const
  const next = (index: number): ServiceId => `${names[(index + 1) % names.length]!}@1`
  const { order, blocked } = resolveGraph(
    names.map((name, index) => node(name, { optional: [next(index)], provides: [`${name}@1`] })),
    new Set()
  )
  t.equal(blocked.size, 0)
  const kept = names.filter((name, index) => {
    const needed = names[(index + 1) % names.length]!
    return order.indexOf(needed) < order.indexOf(name)
  })
  t.equal(kept.length, 3)
  t.end()
})

t.test('the path of a cycle contains only its members, in dependency order', t => {
  const { blocked, order } = resolveGraph(
    [
      node('entry', { requires: ['a@1'] }),
      node('a', { requires: ['b@1'], provides: ['a@1'] }),
      node('b', { requires: ['a@1'], provides: ['b@1'] }),
      node('self', { requires: ['self@1'], provides: ['self@1'] }),
      node('free')
    ],
    new Set()
  )
  t.same(order, ['free'])
  t.same(blocked.get('a'), { code: 'KRN_CYCLE', reason: 'dependency cycle: a -[b@1]-> b -[a@1]-> a' })
  t.same(blocked.get('b'), blocked.get('a'))
  t.same(blocked.get('self'), { code: 'KRN_CYCLE', reason: 'dependency cycle: self -[self@1]-> self' })
  t.same(blocked.get('entry'), { code: 'KRN_WAITING', reason: 'needs a@1: a is not active', token: 'a@1' })
  t.end()
})

t.test('without cycles, the order does not depend on the order of discovery', t => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const arbitrary = fc
    .shuffledSubarray(names, { minLength: names.length })
    .chain(ranked =>
      fc.tuple(
        ...ranked.map((name, index) =>
          fc
            .record({ requires: fc.subarray(ranked.slice(0, index)), after: fc.subarray(ranked.slice(0, index)) })
            .map(({ requires, after }) =>
              node(name, { requires: requires.map((other): ServiceId => `${other}@1`), after, provides: [`${name}@1`] })
            )
        )
      )
    )
    .chain(nodes => fc.tuple(fc.constant(nodes), fc.shuffledSubarray(nodes, { minLength: nodes.length })))
  fc.assert(
    fc.property(arbitrary, ([nodes, shuffled]) => {
      const { order, blocked } = resolveGraph(nodes, new Set())
      const respected = nodes.every(({ name, requires, after }) =>
        [...requires.map(token => token.slice(0, -2)), ...after].every(
          other => order.indexOf(other) < order.indexOf(name)
        )
      )
      return blocked.size === 0 && respected && order.join() === resolveGraph(shuffled, new Set()).order.join()
    })
  )
  t.end()
})
